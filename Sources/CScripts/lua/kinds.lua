local redis = redis
-- The types of a conversation's keys.
local kinds = {'hash', 'string', 'hash', 'zset', 'hash', 'hash', 'hash', 'zset', 'hash', 'zset'}
