-- Writes who reacts to messages.
local function count(log, reactions)
  log.reactions = reactions
  redis.call('HSET', META, 'reactions', int(reactions))
end

-- A user's reaction to a message begins or ends with the log's newest change.
local function react(log, slot, user, key, isOn, time)
  if isOn then
    -- What is left then is of deleted messages.
    if log.reactions == 0 then redis.call('UNLINK', REACTIONS) end
    local began = placed(log.rev) .. '\t' .. int(time) .. '\t'
    redis.call(
      'ZADD', REACTIONS, 0, ofKey(slot, key) .. began .. user, 0,
      ofUser(slot, user) .. began .. key)
    return count(log, log.reactions + 1)
  end
  local found = keysOf(slot, user)
  for at = 1, #found, 2 do
    if found[at] == key then
      local began = found[at + 1]:match('^%d+\t%d+\t')
      redis.call(
        'ZREM', REACTIONS, ofKey(slot, key) .. began .. user, ofUser(slot, user) .. began .. key)
      count(log, log.reactions - 1)
    end
  end
end

-- Drops reactions to messages that are gone, from one place to another: a piece of very many, so
-- that nobody waits. The rest is no reaction to any message.
local function dropReactions(log, from, to)
  if log.reactions == 0 then return end
  local found = redis.call('ZRANGEBYLEX', REACTIONS, '[' .. from, '(' .. to, 'LIMIT', 0, 4000)
  if #found == 0 then return end
  redis.call('ZREMRANGEBYLEX', REACTIONS, '[' .. from, '[' .. found[#found])
  count(log, math.min(log.reactions, math.floor(redis.call('ZCARD', REACTIONS) / 2)))
end
