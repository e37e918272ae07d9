-- Trims messages beyond the limit, a bounded part at a time, so that a long log that gets a
-- limit blocks nobody. Marks are trimmed far behind the messages: a reader at a trimmed mark
-- starts anew. Ids stay for a while.
-- What is known of a message that was trimmed, and not so long ago that its id is free. An
-- older one may be of a log that had the name before.
local function remembered(log, id, time, span)
  local record = redis.call('HGET', TRIMMED, id)
  if not record then return nil end
  local place, rev, sent, hash, author =
    record:match('^(%d+)\t(%d+)\t(%d+)\t(%x+)\t(.*)$')
  local began = tonumber(redis.call('HGET', META, 'createdAt')) or 0
  if not place or tonumber(place) >= log.floor or time - sent > span
    or tonumber(sent) < began
  then
    return nil
  end
  local value = table.concat({rev, sent, '', '2', id, author, '{}'}, '\t')
  return {place = place, hash = hash, author = author, value = value}
end

local function remember(slot, value, time, span)
  local rev, sent, id = value:match('^(%d+)\t(%d+)\t%d*\t%d\t([^\t]*)\t')
  local known = id and redis.call('HGET', IDS, id)
  if not known then return end
  redis.call('HDEL', IDS, id)
  local first = redis.call('HGET', TRIMMED, '\t\t' .. slot)
  if first then redis.call('HDEL', TRIMMED, '\t\t' .. slot) end
  if time - sent > span then return end
  local record = table.concat(
    {slot, first or rev, sent, known:match('^%d+\t(.*)$')}, '\t')
  redis.call('HSET', TRIMMED, id, record, '\t' .. slot, id)
end

-- Forgets ids that are too old or too many, oldest first.
local function forget(log, known, time, span)
  local last = math.min(log.floor, known + 2500)
  while known < last do
    local slot = int(known)
    local id = redis.call('HGET', TRIMMED, '\t' .. slot)
    if id then
      local record = redis.call('HGET', TRIMMED, id)
      local place, sent = (record or ''):match('^(%d+)\t%d+\t(%d+)\t')
      local isOwn = place == slot
      if isOwn and log.floor - known <= 100000 and time - sent <= span then break end
      redis.call('HDEL', TRIMMED, '\t' .. slot)
      if isOwn then redis.call('HDEL', TRIMMED, id) end
    end
    known = known + 1
  end
  redis.call('HSET', META, 'known', int(known))
end

local function trim(log, retain, time, span)
  if retain == 0 then return end
  local known = tonumber(redis.call('HGET', META, 'known')) or log.floor
  local floor = math.min(log.seq - retain + 1, log.floor + 2000)
  while log.floor < floor do
    local slot = int(log.floor)
    local value = redis.call('HGET', MESSAGES, slot)
    if value then
      takeOut(log, log.floor, value)
      remember(slot, value, time, span)
    end
    redis.call('HDEL', MESSAGES, slot)
    redis.call('ZREM', CHANGES, slot)
    redis.call('ZREM', DELETED, slot)
    log.floor = log.floor + 1
  end
  dropReactions(log, 0, log.floor)
  forget(log, known, time, span)
  if log.last < log.floor then log.last = 0 end
  local kept, limit = log.rev - log.base, math.max(65536, 4 * retain)
  if kept > 2 * limit then
    redis.call('SET', MARKS, redis.call('GETRANGE', MARKS, (kept - limit) * 8, -1))
    log.base = log.rev - limit
  end
end
