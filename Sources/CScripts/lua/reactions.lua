#!lua flags=no-writes,allow-oom
-- include arguments log judging guarding reacting
-- Arguments: who asks, id of a message, a key (empty: all), the rev behind which to begin, limit.
-- Replies with the message, and for each reaction its key, rev, time and user: of each key the
-- oldest.
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
  local function add(key)
    local prefix = ofKey(slot, key)
    for _, entry in ipairs(entries(prefix, after + 1, limit)) do
      found[#found + 1] = key
      for _, part in ipairs({entry:sub(#prefix + 1):match('^(%d+)\t(%d+)\t(.*)$')}) do
        found[#found + 1] = part
      end
    end
  end
  if key ~= '' then
    add(key)
  else
    local next, last = '[' .. placed(slot) .. 'k', '(' .. placed(slot) .. 'l'
    while true do
      local entry = redis.call('ZRANGEBYLEX', REACTIONS, next, last, 'LIMIT', 0, 1)[1]
      if not entry then break end
      local name = entry:sub(18):match('^([^\t]*)\t')
      add(name)
      next = '[' .. ofKey(slot, name):sub(1, -2) .. '\n'
    end
  end
  return {'done', {tonumber(slot), redis.call('HGET', MESSAGES, slot)}, found}
end
-- include reading
