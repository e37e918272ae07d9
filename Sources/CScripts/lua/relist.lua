#!lua
-- include arguments permitted tagging
-- Rebuilds a list, in steps; until the last one it counts as damaged. Key: the list.
-- Arguments: the step, the noted tag, for `put` conversations.
--
-- - `begin` removes the entries of another user's list, except those of the last minute, which
-- may be of a call in progress; `clear` also removes a key of another type, `renew` has the list
-- count as damaged though no entry is missing that it knows of.
-- - `put` enters conversations.
-- - `end` counts them, and replies with the number.
local step, own = take(2)
own = '\t' .. own
local function drop(low, high)
  repeat
    local found = redis.call('ZRANGEBYSCORE', LIST, low, high, 'LIMIT', 0, 1000)
    if #found > 0 then redis.call('ZREM', LIST, unpack(found)) end
  until #found < 1000
end
if step == 'clear' then
  local kind = redis.call('TYPE', LIST).ok
  if kind ~= 'zset' then redis.call('UNLINK', LIST) end
end
local name, counted = tagged()
if step ~= 'put' and step ~= 'end' then
  if name and name ~= own then
    drop('-inf', int(now() - 60000))
    drop(int(ABOVE), '+inf')
  end
  -- More than there will be, so that it is none before the end.
  local isCut = step == 'renew' or name ~= own or redis.call('ZCARD', LIST) - 1 < counted
  if isCut then tag(own, 1000000000) end
  return {'done'}
end
if name ~= own then return {'stale'} end
if step == 'put' then
  for at = given + 1, #ARGV do redis.call('ZADD', LIST, 'NX', int(now()), ARGV[at]) end
  return {'done'}
end
local count = redis.call('ZCARD', LIST) - 1
tag(own, count)
return {'done', count}
