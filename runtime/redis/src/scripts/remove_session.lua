-- Removes a session and its events.
-- KEYS: the session, its streams. ARGV: the prefix of its events.
for _, stream in ipairs(redis.call('HKEYS', KEYS[2])) do
  redis.call('DEL', ARGV[1] .. stream)
end
redis.call('DEL', KEYS[1], KEYS[2])
