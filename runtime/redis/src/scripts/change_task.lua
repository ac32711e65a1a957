-- Replaces a task, unless it has changed since it was read. Returns 0 then.
-- KEYS: the task. ARGV: the version that was read, the new JSON text.
if redis.call('HGET', KEYS[1], 'version') ~= ARGV[1] then
  return 0
end
redis.call('HINCRBY', KEYS[1], 'version', 1)
redis.call('HSET', KEYS[1], 'json', ARGV[2])
return 1
