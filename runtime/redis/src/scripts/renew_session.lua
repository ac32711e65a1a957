-- Postpones the expiry of a session and its events. Returns 0 if another replica is its home.
-- KEYS: the session, its streams. ARGV: the prefix of its events, the replica, the lifetime in ms.
if redis.call('HGET', KEYS[1], 'home') ~= ARGV[2] then
  return 0
end
redis.call('PEXPIRE', KEYS[1], ARGV[3])
redis.call('PEXPIRE', KEYS[2], ARGV[3])
for _, stream in ipairs(redis.call('HKEYS', KEYS[2])) do
  redis.call('PEXPIRE', ARGV[1] .. stream, ARGV[3])
end
return 1
