#!lua
-- include arguments permitted kinds retyping log typing judging writing reacting addressing
-- include dropping
-- Arguments: the step, the new epoch, which also identifies the repair, marks; for `part` the
-- first and last seq. After the log's keys one more, for the old `ids`.
--
-- - `begin` removes what belongs to another log, and all that can be rebuilt, and replies with
-- the first and the last seq.
-- - `part` rebuilds it from the messages. A missing message becomes a tombstone; before the
-- first message that is left, the floor rises.
-- - `end` gives the log its new epoch, and replies with its head.
local epoch, marks = take(2)
local KEPT = KEYS[11]
local log = open()
if not log and isHeadRetyped then
  log = {epoch = epoch, seq = 0, rev = 0, mentions = 0, isHeadless = true}
end
if not log then return {'absent'} end
local hashes, sets = {MESSAGES, IDS, MEMBERS, READS, TRIMMED}, {CHANGES, DELETED}

local function begin()
  local part = fault(log)
  if not part then return {'whole'} end
  -- The tag that most keys have is the log's.
  local votes, tag = {}, log.tag
  for _, key in ipairs(hashes) do
    local seen = redis.call('HGET', key, '\t\ttag')
    if seen then
      votes[seen] = (votes[seen] or 0) + 1
      if votes[seen] > (votes[tag] or 0) and votes[seen] > 2 then tag = seen end
    end
  end
  if tag and log.tag and tag ~= log.tag then
    -- The head is another log's, and so is what it says of title and people.
    log = {epoch = epoch, seq = 0, rev = log.rev, mentions = 0, isHeadless = true}
    redis.call('UNLINK', META)
  end
  for _, key in ipairs(hashes) do
    local seen = redis.call('HGET', key, '\t\ttag')
    if tag and seen and seen ~= tag then redis.call('UNLINK', key) end
  end
  if log.isHeadless then
    local low, high, rev, activity = nil, 0, log.rev or 0, 0
    local all = redis.call('HGETALL', MESSAGES)
    for at = 1, #all, 2 do
      local slot = tonumber(all[at])
      local changed, created = all[at + 1]:match('^(%d+)\t(%d+)\t')
      if slot and changed then
        low, high = math.min(low or slot, slot), math.max(high, slot)
        rev = math.max(rev, tonumber(changed))
        activity = math.max(activity, tonumber(created))
      end
    end
    log.seq, log.rev, log.floor = high, rev, low or high + 1
    log.activity, log.record = activity, 0
  end
  -- Reactions of which some are lost, or which nothing counts, can't be believed.
  if redis.call('ZCARD', REACTIONS) ~= 3 * (log.reactions or 0) then
    redis.call('UNLINK', REACTIONS)
    redis.call('HDEL', META, 'reactions')
  end
  -- What messages mention, `part` enters again.
  redis.call('UNLINK', MENTIONS)
  redis.call('HDEL', META, 'mentions')
  -- A repair that ended half-way has kept them already.
  local isKept = redis.call('HEXISTS', META, 'repair') == 1
  redis.call('UNLINK', isKept and IDS or KEPT)
  if redis.call('EXISTS', IDS) == 1 then redis.call('RENAME', IDS, KEPT) end
  for _, key in ipairs({MARKS, CHANGES, DELETED}) do redis.call('UNLINK', key) end
  if redis.call('HLEN', MESSAGES) == 0 then log.floor = log.seq + 1 end
  log.base, log.last = log.rev, 0
  save(log)
  redis.call('HSET', META, 'repair', epoch)
  return {'done', log.floor, log.seq}
end

local function part(from, to)
  from, to = tonumber(from), tonumber(to)
  local hasReactions = redis.call('HEXISTS', META, 'reactions') == 1
  for slot = from, to do
    local name = int(slot)
    local value = redis.call('HGET', MESSAGES, name)
    local rev, created, gone, id, author = nil, nil, nil, nil, nil
    if value then
      rev, created, gone, id, author =
        value:match('^(%d+)\t(%d+)\t%d*\t(%d)\t([^\t]*)\t([^\t]*)\t')
    end
    if not rev and log.floor == slot then
      redis.call('HDEL', MESSAGES, name)
      log.floor = slot + 1
      dropReactions(log, slot, slot + 1)
    else
      if not rev then
        local before = redis.call('HGET', MESSAGES, int(slot - 1)) or ''
        created, gone, author = before:match('^%d+\t(%d+)\t') or '0', '1', 'lost'
        id = 'lost-' .. name
        dropReactions(log, slot, slot + 1)
        advance(log, name, marks:sub((slot - from) * 8 + 1, (slot - from) * 8 + 8))
        value = table.concat({int(log.rev), created, '', '1', id, author, ''}, '\t')
        redis.call('HSET', MESSAGES, name, value)
      else
        redis.call('ZADD', CHANGES, rev, name)
        local shown, _, content, address = parts(value)
        if gone == '0' then enter(log, slot, author, address, true) end
        if shown and not hasReactions then
          if address then content = address .. '\t' .. content end
          value = value:match('^%d+\t%d+\t%d*\t%d\t[^\t]*\t[^\t]*\t') .. content
          redis.call('HSET', MESSAGES, name, value)
        end
      end
      local known = redis.call('HGET', KEPT, id)
      if not known or known:match('^%d+') ~= name then
        known = name .. '\t0\t' .. author
      end
      redis.call('HSET', IDS, id, known)
      if gone == '1' then
        redis.call('ZADD', DELETED, slot, name)
      else
        log.last = slot
      end
    end
  end
  save(log)
  return {'done'}
end

local function finish()
  local time = now()
  log.epoch, log.tag = epoch, nil
  advance(log, '0', marks:sub(1, 8))
  log.record, log.activity = log.rev, math.max(time, log.activity)
  save(log)
  redis.call('HDEL', META, 'repair')
  redis.call('HSETNX', META, 'createdAt', int(time))
  redis.call('HSET', META, 'updatedAt', int(time))
  redis.call('UNLINK', KEPT)
  seal(log)
  return {'done', head(log)}
end

if step == 'begin' then return begin() end
if redis.call('HGET', META, 'repair') ~= epoch then return {'stale'} end
if step == 'part' then return part(take(2)) end
return finish()
