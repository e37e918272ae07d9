#!lua flags=no-writes,allow-oom
-- include arguments log judging guarding reacting
-- Arguments: a user, two seqs. Replies with seq and key of each reaction of the user to a message
-- between them. Slots without any reaction are passed over.
local function read()
  local refusal = damaged()
  if refusal then return refusal end
  local user, after, before = take(3)
  local log = open()
  if not log or redis.call('HEXISTS', MEMBERS, user) == 0 then return {'absent'} end
  local found = {}
  local slot, last = math.max(after + 1, log.floor), math.min(before - 1, log.seq)
  while slot <= last do
    local entry = redis.call(
      'ZRANGEBYLEX', REACTIONS, '[' .. placed(slot), '(' .. placed(last + 1), 'LIMIT', 0, 1)[1]
    if not entry then break end
    slot = tonumber(entry:sub(1, 16))
    for _, own in ipairs(ownOf(slot, user)) do
      found[#found + 1], found[#found + 2] = slot, own.key
    end
    slot = slot + 1
  end
  return {'done', found}
end
-- include reading
