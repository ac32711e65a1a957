-- Removes a stream. KEYS: the session, its streams, the events of the stream. ARGV: the stream's number.
local head = redis.call('HGET', KEYS[2], ARGV[1])
if not head then
  return
end
redis.call('HDEL', KEYS[2], ARGV[1])
redis.call('DEL', KEYS[3])
if redis.call('EXISTS', KEYS[1]) == 1 then
  redis.call('HINCRBY', KEYS[1], 'bytes', string.format('%.0f', 0 - string.match(head, '^%d+:%d+:(%d+):')))
end
