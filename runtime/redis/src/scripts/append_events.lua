-- Appends events that are newer than the last one, and drops the oldest ones. Returns 0 if another replica is the
-- session's home.
-- KEYS: the session, its streams, the events of the stream. ARGV: the replica, the stream's number, the IDs of its
-- requests, the maximum number of bytes, then the number, the flag and the message of each event.
local home = redis.call('HGET', KEYS[1], 'home')
if not home then
  return 1
end
if home ~= ARGV[1] then
  return 0
end
local last, dropped, bytes, requests = string.rep('0', 20), string.rep('0', 20), 0, ARGV[3]
local known = redis.call('HGET', KEYS[2], ARGV[2])
if known then
  last, dropped, bytes, requests = string.match(known, '^(%d+):(%d+):(%d+):(.*)$')
  bytes = tonumber(bytes)
end
for i = 5, #ARGV, 3 do
  -- Both have 20 digits.
  if ARGV[i] > last then
    redis.call('RPUSH', KEYS[3], ARGV[i] .. ARGV[i + 1] .. ARGV[i + 2])
    last = ARGV[i]
    bytes = bytes + #ARGV[i + 2]
  end
end
while bytes > tonumber(ARGV[4]) do
  local event = redis.call('LPOP', KEYS[3])
  if not event then
    bytes = 0
    break
  end
  dropped = string.sub(event, 1, 20)
  bytes = bytes - (#event - 21)
end
redis.call('HSET', KEYS[2], ARGV[2], string.format('%s:%s:%.0f:%s', last, dropped, bytes, requests))
local lifetime = redis.call('PTTL', KEYS[1])
if lifetime > 0 then
  redis.call('PEXPIRE', KEYS[2], lifetime)
  redis.call('PEXPIRE', KEYS[3], lifetime)
end
return 1
