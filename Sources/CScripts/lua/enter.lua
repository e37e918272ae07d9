#!lua
-- include arguments permitted tagging
-- Puts a conversation in a list, with a later time than before. Key: the list. Arguments:
-- conversation, the tag for a new list. Replies with the tag, and whether it is new.
local conversation, new = take(2)
local name, count = tagged()
local isNew, moment = not name, now()
local before = redis.call('ZSCORE', LIST, conversation)
moment = math.max(moment, (tonumber(before) or 0) + 1)
redis.call('ZADD', LIST, int(moment), conversation)
local own = redis.call('ZCARD', LIST) - (isNew and 0 or 1)
if isNew then
  name, count = '\t' .. new, own
elseif not before then
  count = count + 1
end
tag(name, math.max(count, own))
return {'done', name:sub(2), isNew and 1 or 0}
