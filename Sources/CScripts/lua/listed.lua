#!lua flags=no-writes,allow-oom
-- include arguments log judging guarding showing
-- A conversation's entry in a user's list. Argument: user.
local function read()
  local refusal = damaged()
  if refusal then return refusal end
  local user = take(1)
  local log = open()
  if not log then return {'absent'} end
  if redis.call('HEXISTS', MEMBERS, user) == 0 then
    return {'out', log.epoch, int(log.record)}
  end
  return {'done', log.activity, head(log), reading(log, user)}
end
-- include reading
