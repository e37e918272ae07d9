#!lua flags=no-writes,allow-oom
-- include arguments log judging guarding
-- Arguments: the reader (may be empty), to whom the conversation is not there unless they take
-- part; what to read of the members, then the version of the member list that the gateway knows
-- and, for `page`, the users whose rows it asks for. If that version is another, or for a cursor
-- of `HSCAN`, replies with one step of a walk through all members: the version, the rev of slot 0
-- and the number of rows, all three the same in each step of an undisturbed walk, and the next
-- cursor, 0 after the last step. `all` is a walk of one step.
local function read()
  local refusal = damaged()
  if refusal then return refusal end
  local log = open()
  local reader, cursor, known = take(3)
  local isShown = reader == '' or redis.call('HEXISTS', MEMBERS, reader) == 1
  if not log or not isShown then return {'absent'} end
  local places = redis.call('HGET', META, 'places') or ''
  local size = redis.call('HLEN', MEMBERS)
  local version = table.concat({log.epoch, places, size}, ' ')
  local members, reads = {}, {}
  if cursor == 'page' then
    if known == version then
      for _ = given + 1, #ARGV do
        local user = take(1)
        members[#members + 1] = user
        members[#members + 1] = redis.call('HGET', MEMBERS, user) or ''
        reads[#reads + 1] = user
        reads[#reads + 1] = redis.call('HGET', READS, user) or '0'
      end
      return {'page', members, reads}
    end
    cursor = '0'
  end
  if cursor == 'all' then
    members, cursor, reads = redis.call('HGETALL', MEMBERS), '0', redis.call('HGETALL', READS)
  else
    local found = redis.call('HSCAN', MEMBERS, cursor, 'COUNT', 500)
    cursor, members = found[1], found[2]
    -- Where members are few, a step has all of them, however many are asked for.
    for low = 1, #members, 2000 do
      local users = {}
      for at = low, math.min(low + 1998, #members), 2 do users[#users + 1] = members[at] end
      for at, place in ipairs(redis.call('HMGET', READS, unpack(users))) do
        if place then reads[#reads + 1], reads[#reads + 2] = users[at], place end
      end
    end
  end
  return {'step', members, reads, version, int(log.record), size, cursor}
end
-- include reading
