#!lua flags=no-writes,allow-oom,allow-cross-slot-keys
-- include arguments
-- Finds conversations of a server in which users take part. Key: one that lies there.
-- Arguments: cursor, a pattern for `members` keys, the users. Replies with the next cursor,
-- and, for each hit, the key of the members and the index of the user.
local cursor, pattern = take(2)
local found = redis.call('SCAN', cursor, 'MATCH', pattern, 'COUNT', 500)
local seen = {}
for _, key in ipairs(found[2]) do
  if redis.call('TYPE', key).ok == 'hash' then
    for at, value in ipairs(redis.call('HMGET', key, unpack(ARGV, given + 1))) do
      if value then seen[#seen + 1], seen[#seen + 2] = key, at end
    end
  end
end
return {'done', found[1], seen}
