-- Publishes a change.
-- KEYS: the changes, their counter. ARGV: the maximum number of changes, the replica, the change.
if redis.call('EXISTS', KEYS[2]) == 0 then
  local time = redis.call('TIME')
  redis.call('SET', KEYS[2], string.format('%.0f', time[1] * 1000000 + time[2]))
end
local id = string.format('%.0f-0', redis.call('INCR', KEYS[2]))
redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[1], id, 'replica', ARGV[2], 'change', ARGV[3])
