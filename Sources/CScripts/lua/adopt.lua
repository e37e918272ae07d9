#!lua
-- include arguments permitted tagging
-- Gives a list of an earlier version a tag, and counts entries that such a version added. Key:
-- the list. Argument: the tag for a list without one. Replies with the tag.
local name, count = tagged()
local own = redis.call('ZCARD', LIST) - (name and 1 or 0)
if not name then name, count = '\t' .. take(1), -1 end
if own > count then tag(name, own) end
return {'done', name:sub(2)}
