#!lua flags=no-writes,allow-oom
-- include arguments log judging guarding
-- Arguments: id.
local function read()
  local refusal = damaged()
  if refusal then return refusal end
  if not open() then return {'absent'} end
  local known = redis.call('HGET', IDS, (take(1)))
  if not known then return {'missing', 'id'} end
  local slot = known:match('^%d+')
  return {'done', {tonumber(slot), redis.call('HGET', MESSAGES, slot)}}
end
-- include reading
