-- Stores a session. Returns 0 if it exists.
-- KEYS: the session, its streams. ARGV: the prefix of its events, the lifetime in ms, names and values of fields.
if redis.call('EXISTS', KEYS[1]) == 1 then
  return 0
end
-- What an expired session may have left.
for _, stream in ipairs(redis.call('HKEYS', KEYS[2])) do
  redis.call('DEL', ARGV[1] .. stream)
end
redis.call('DEL', KEYS[2])
redis.call('HSET', KEYS[1], unpack(ARGV, 3))
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
