-- Returns the number of the last change. KEYS: the counter.
local count = redis.call('GET', KEYS[1])
if not count then
  local time = redis.call('TIME')
  count = string.format('%.0f', time[1] * 1000000 + time[2])
  redis.call('SET', KEYS[1], count)
end
return count
