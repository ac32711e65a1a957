-- Makes a replica the home of a session, and returns the session, unless its home has changed meanwhile. Tells the old home,
-- which may be alive.
-- KEYS: the session. ARGV: the home and the epoch that were read, the new home, the channel of the old one, the message.
local found = redis.call('HMGET', KEYS[1], 'home', 'epoch')
if found[1] ~= ARGV[1] or found[2] ~= ARGV[2] then
  return false
end
redis.call('HSET', KEYS[1], 'home', ARGV[3])
redis.call('HINCRBY', KEYS[1], 'epoch', 1)
if ARGV[1] ~= ARGV[3] then
  redis.call('PUBLISH', ARGV[4], ARGV[5])
end
return redis.call('HGETALL', KEYS[1])
