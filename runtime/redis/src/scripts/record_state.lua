-- Records a used state. Returns 0 if it was used before, or if it expires before the floor, and -1 if there are too many.
-- KEYS: the floor, the used states by expiry. ARGV: the expiry in ms since 1970, the lifetime of states in ms, the state,
-- and the maximum number of states.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local floor = tonumber(redis.call('GET', KEYS[1]))
if not floor then
  floor = now + ARGV[2]
  redis.call('SET', KEYS[1], string.format('%.0f', floor))
end
if tonumber(ARGV[1]) < floor then
  return 0
end
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', string.format('%.0f', now))
if redis.call('ZSCORE', KEYS[2], ARGV[3]) then
  return 0
end
if redis.call('ZCARD', KEYS[2]) >= tonumber(ARGV[4]) then
  return -1
end
redis.call('ZADD', KEYS[2], ARGV[1], ARGV[3])
if tonumber(ARGV[1]) - now > redis.call('PTTL', KEYS[2]) then
  redis.call('PEXPIREAT', KEYS[2], ARGV[1])
end
return 1
