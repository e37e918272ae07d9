#!lua flags=no-writes,allow-oom,allow-cross-slot-keys
-- include arguments
-- Scans for keys with a time to live. Arguments: cursor, pattern. Replies with the next
-- cursor, and one such key, if there is any.
local cursor, pattern = take(2)
local found = redis.call('SCAN', cursor, 'MATCH', pattern, 'COUNT', 1000)
for _, key in ipairs(found[2]) do
  if redis.call('PTTL', key) >= 0 then return {'done', found[1], key} end
end
return {'done', found[1]}
