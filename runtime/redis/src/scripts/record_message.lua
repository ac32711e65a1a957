-- Replaces or removes an entry of a session's journal. Returns 0 if another replica is its home.
-- KEYS: the session. ARGV: the replica, the entry's key, and its message if it is not removed.
if redis.call('HGET', KEYS[1], 'home') ~= ARGV[1] then
  return 0
end
local field = 'j:' .. ARGV[2]
if ARGV[3] then
  local number = redis.call('HINCRBY', KEYS[1], 'seq', 1)
  redis.call('HSET', KEYS[1], field, string.format('%.0f:', number) .. ARGV[3])
else
  redis.call('HDEL', KEYS[1], field)
end
return 1
