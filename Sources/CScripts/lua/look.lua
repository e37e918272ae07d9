#!lua flags=no-writes,allow-oom
-- include arguments log judging guarding
-- The view for an edit or a deletion. Arguments: caller (may be empty), id, and users. Replies with
-- which of the users take part, and the number of admins.
local function read()
  local refusal = damaged()
  if refusal then return refusal end
  local caller, id = take(2)
  local log = open()
  if not log then return {'absent'} end
  local member = caller ~= '' and redis.call('HGET', MEMBERS, caller)
  local known = redis.call('HGET', IDS, id)
  local slot = known and known:match('^%d+')
  local value = slot and redis.call('HGET', MESSAGES, slot)
  local present = {}
  for at = given + 1, #ARGV do
    present[#present + 1] = redis.call('HEXISTS', MEMBERS, ARGV[at])
  end
  return {
    'done', head(log), log.record, member, slot and tonumber(slot) or 0, value or false, present,
    redis.call('HGET', META, 'admins'),
  }
end
-- include reading
