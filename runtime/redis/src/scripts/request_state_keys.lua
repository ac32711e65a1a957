-- Returns the time in ms, and the keys, newest first: each is the time of its creation, a colon, and 32 bytes.
-- KEYS: the keys. ARGV: a random key, the age in ms after which it becomes the newest one, the time in ms after which a
-- key that has a successor is dropped.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function age(key)
  return now - tonumber(string.match(key, '^(%d+):'))
end
local newest = redis.call('LINDEX', KEYS[1], 0)
if not newest or age(newest) >= tonumber(ARGV[2]) then
  redis.call('LPUSH', KEYS[1], string.format('%.0f:', now) .. ARGV[1])
end
local keys = redis.call('LRANGE', KEYS[1], 0, -1)
while #keys > 1 and age(keys[#keys - 1]) > tonumber(ARGV[3]) do
  redis.call('RPOP', KEYS[1])
  table.remove(keys)
end
return { string.format('%.0f', now), keys }
