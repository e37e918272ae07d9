#!lua
-- include arguments permitted
-- Notes the tag of a user's list, unless one is noted. Keys: the log of departures. Argument:
-- the tag. Replies with the noted one.
local META = KEYS[1]
local kind = redis.call('TYPE', META).ok
if kind ~= 'hash' and kind ~= 'none' then redis.call('UNLINK', META) end
redis.call('HSETNX', META, 'list', (take(1)))
return {'done', redis.call('HGET', META, 'list')}
