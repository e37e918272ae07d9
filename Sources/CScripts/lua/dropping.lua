-- Writes who reacts to messages.
local function count(log, reactions)
  log.reactions = reactions
  redis.call('HSET', META, 'reactions', int(reactions))
end

-- A user's reaction to a message begins or ends with the log's newest change.
local function react(log, slot, user, key, isOn, time)
  if isOn then
    if log.reactions == 0 then redis.call('UNLINK', REACTIONS) end
    local all = entriesOf(slot, user, key, placed(log.rev), int(time))
    redis.call('ZADD', REACTIONS, 0, all[1], 0, all[2], 0, all[3])
    return count(log, log.reactions + 1)
  end
  for _, own in ipairs(ownOf(slot, user)) do
    if own.key == key then
      redis.call('ZREM', REACTIONS, unpack(entriesOf(slot, user, key, own.rev, own.time)))
      count(log, log.reactions - 1)
    end
  end
end

-- Nobody reacts to the messages from one slot to another, exclusive, any longer: they are gone.
local function dropReactions(log, from, to)
  if log.reactions == 0 then return end
  local gone = redis.call(
    'ZREMRANGEBYLEX', REACTIONS, '[' .. placed(from), '(' .. placed(to))
  if gone > 0 then count(log, log.reactions - gone / 3) end
end
