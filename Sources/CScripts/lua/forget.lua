#!lua flags=allow-oom
-- include arguments permitted tagging
-- Removes an entry that is still the one seen, and not of this millisecond: who joins again
-- must get another time. Key: the list. Arguments: conversation, the time in the entry.
local conversation, moment = take(2)
local name, count = tagged()
if redis.call('ZSCORE', LIST, conversation) == moment and int(now()) ~= moment then
  redis.call('ZREM', LIST, conversation)
  if name then tag(name, count - 1) end
end
return {'done'}
