-- Charges a call (GCRA). Returns 0, or the time to wait in µs.
-- KEYS: the time in µs at which the caller has its full burst again. ARGV: the interval of a call, and how far ahead of
-- the clock that time may be, in µs.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local full = math.max(tonumber(redis.call('GET', KEYS[1]) or 0), now)
local wait = full - now - tonumber(ARGV[2])
if wait > 0 then
  return math.ceil(wait)
end
full = full + tonumber(ARGV[1])
redis.call('SET', KEYS[1], string.format('%.3f', full), 'PX', string.format('%.0f', math.ceil((full - now) / 1000)))
return 0
