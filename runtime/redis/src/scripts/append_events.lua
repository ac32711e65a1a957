-- Appends events that are newer than the last one, and drops the oldest ones. Then removes the oldest other streams of the
-- session while there are too many, or their events are too large. Returns 0 if another replica is the session's home.
-- KEYS: the session, its streams, the events of the stream. ARGV: the replica, the stream's number, the IDs of its
-- requests, the maximum number of bytes of a stream, of streams, and of bytes of all streams, the prefix of the session's
-- events, the number before the first event, then the number, the flag and the message of each event.
local home = redis.call('HGET', KEYS[1], 'home')
if not home then
  return 1
end
if home ~= ARGV[1] then
  return 0
end
local zero = string.rep('0', 20)
local last, dropped, bytes, requests = zero, zero, 0, ARGV[3]
local known = redis.call('HGET', KEYS[2], ARGV[2])
if known then
  last, dropped, bytes, requests = string.match(known, '^(%d+):(%d+):(%d+):(.*)$')
  bytes = tonumber(bytes)
end
if last == zero then
  dropped = ARGV[8]
end
local before = bytes
for i = 9, #ARGV, 3 do
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
local total = redis.call('HINCRBY', KEYS[1], 'bytes', string.format('%.0f', bytes - before))
local count = redis.call('HLEN', KEYS[2])
local function is_too_much()
  return count > tonumber(ARGV[5]) or total > tonumber(ARGV[6])
end
if is_too_much() then
  local numbers = redis.call('HKEYS', KEYS[2])
  table.sort(numbers, function(a, b)
    return #a < #b or (#a == #b and a < b)
  end)
  for _, number in ipairs(numbers) do
    -- Stream 0 always exists.
    if number ~= '0' and number ~= ARGV[2] and is_too_much() then
      local size = string.match(redis.call('HGET', KEYS[2], number), '^%d+:%d+:(%d+):')
      redis.call('HDEL', KEYS[2], number)
      redis.call('DEL', ARGV[7] .. number)
      total = redis.call('HINCRBY', KEYS[1], 'bytes', string.format('%.0f', 0 - size))
      count = count - 1
    end
  end
end
local lifetime = redis.call('PTTL', KEYS[1])
if lifetime > 0 then
  redis.call('PEXPIRE', KEYS[2], lifetime)
  redis.call('PEXPIRE', KEYS[3], lifetime)
end
return 1
