-- Shared by scripts that write. The server's clock is the clock of all gateways.
local function now()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

local function advance(log, slot, mark)
  log.rev = log.rev + 1
  redis.call('APPEND', MARKS, mark)
  redis.call('ZADD', CHANGES, int(log.rev), slot)
end

local function save(log)
  local values = {'epoch', log.epoch}
  for _, field in ipairs(fields) do
    values[#values + 1] = field
    values[#values + 1] = int(log[field])
  end
  redis.call('HSET', META, unpack(values))
end

-- Says which keys belong together, the last in each script that changes what is counted. A
-- log without a tag gets one.
local function seal(log)
  local mark = hex(markAt(log, log.rev))
  if not log.tag then
    log.tag = mark ~= '' and mark or log.epoch
    redis.call('HSET', META, 'tag', log.tag, 'seal', '')
    for _, key in ipairs({MESSAGES, IDS, MEMBERS, READS, TRIMMED}) do
      redis.call('HSET', key, '\t\ttag', log.tag)
    end
    for _, key in ipairs({CHANGES, DELETED}) do
      redis.call('ZADD', key, -1, '\t' .. log.tag)
    end
  end
  local sealed = {int(log.rev), mark}
  for _, count in ipairs({counts()}) do sealed[#sealed + 1] = int(count) end
  redis.call('HSET', META, 'seal', table.concat(sealed, ' '))
end

-- Parts with their lengths, as the gateways read them from the feed. They are joined at
-- once, when all are there: Redis's Lua hashes each byte of each string that it makes.
local function addParts(event, ...)
  for _, part in ipairs({...}) do
    if type(part) == 'number' then part = int(part) end
    local last = #event
    event[last + 1], event[last + 2], event[last + 3] = #part, ':', part
  end
  return event
end

-- The mark before the next change, for its event: it proves to a follower that the change
-- continues the log that it knows.
local function newest(log)
  if log.rev == 0 then return '' end
  return log.rev > log.base and markAt(log, log.rev) or nil
end
