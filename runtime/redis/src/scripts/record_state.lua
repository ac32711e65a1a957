-- Records a used state. Returns 0 if it was used before, or if it expires before the floor.
-- KEYS: the floor, the state. ARGV: the expiry in ms since 1970, the lifetime of states in ms.
local floor = tonumber(redis.call('GET', KEYS[1]))
if not floor then
  local time = redis.call('TIME')
  floor = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[2]
  redis.call('SET', KEYS[1], string.format('%.0f', floor))
end
if tonumber(ARGV[1]) < floor then
  return 0
end
if redis.call('SET', KEYS[2], 1, 'NX', 'PXAT', ARGV[1]) then
  return 1
end
return 0
