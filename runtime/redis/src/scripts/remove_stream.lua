-- Removes a stream. KEYS: the streams of the session, the events of the stream. ARGV: the stream's number.
redis.call('HDEL', KEYS[1], ARGV[1])
redis.call('DEL', KEYS[2])
