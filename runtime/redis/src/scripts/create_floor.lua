-- Creates the floor of used states. KEYS: the floor. ARGV: the lifetime of states in ms.
if redis.call('EXISTS', KEYS[1]) == 0 then
  local time = redis.call('TIME')
  redis.call('SET', KEYS[1], string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]))
end
