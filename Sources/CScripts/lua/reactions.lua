#!lua flags=no-writes,allow-oom
-- include arguments log judging guarding reacting
-- Arguments: who asks, id of a message, a key (empty: all), the rev behind which to begin, limit.
-- Replies with the message, and for each reaction its key, rev, time and user, oldest first.
local function read()
  local refusal = damaged()
  if refusal then return refusal end
  local caller, id, key, after, limit = take(5)
  local log = open()
  if not log or redis.call('HEXISTS', MEMBERS, caller) == 0 then return {'absent'} end
  local known = redis.call('HGET', IDS, id)
  if not known then return {'missing', 'id'} end
  local slot = known:match('^%d+')
  local found = {}
  local prefix = key ~= '' and ofKey(slot, key) or ofAll(slot)
  for _, entry in ipairs(behind(prefix, after + 1, limit)) do
    local rev, time, rest = unpack(entry)
    local name, user = key, rest
    if key == '' then name, user = rest:match('^([^\t]*)\t(.*)$') end
    for _, part in ipairs({name, rev, time, user}) do found[#found + 1] = part end
  end
  return {'done', {tonumber(slot), redis.call('HGET', MESSAGES, slot)}, found}
end
-- include reading
