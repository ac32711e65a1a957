-- Returns the number, the head and the events of each stream of a session.
-- KEYS: the session, its streams. ARGV: the prefix of its events.
if redis.call('EXISTS', KEYS[1]) == 0 then
  return {}
end
local found = {}
local streams = redis.call('HGETALL', KEYS[2])
for i = 1, #streams, 2 do
  found[#found + 1] = { streams[i], streams[i + 1], redis.call('LRANGE', ARGV[1] .. streams[i], 0, -1) }
end
return found
