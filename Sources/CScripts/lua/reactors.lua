#!lua flags=no-writes,allow-oom
-- include arguments log judging guarding reacting
-- The view for a reaction. Arguments: caller (may be empty), id, whose reaction, its key, how many
-- users a message names. Replies as `look`, then with the keys of the caller, those of the user,
-- the next user behind those who are named, and whether the user takes part.
local function read()
  local refusal = damaged()
  if refusal then return refusal end
  local caller, id, user, key, named = take(5)
  local log = open()
  if not log then return {'absent'} end
  local member = caller ~= '' and redis.call('HGET', MEMBERS, caller)
  local known = redis.call('HGET', IDS, id)
  local slot = known and known:match('^%d+')
  local value = slot and redis.call('HGET', MESSAGES, slot)
  local function keys(of)
    local found = {}
    for at, own in ipairs(slot and ownOf(slot, of) or {}) do found[at] = own.key end
    return found
  end
  local rest = slot and redis.call(
    'ZRANGEBYLEX', REACTIONS, '[' .. ofKey(slot, key), '(' .. ofKey(slot, key):sub(1, -2) .. '\n',
    'LIMIT', named, 1)[1]
  return {
    'done', head(log), log.record, member, slot and tonumber(slot) or 0, value or false,
    keys(caller ~= '' and caller or user), keys(user),
    rest and rest:sub(#ofKey(slot, key) + 1):match('^%d+\t%d+\t(.*)$') or false,
    redis.call('HEXISTS', MEMBERS, user),
  }
end
-- include reading
