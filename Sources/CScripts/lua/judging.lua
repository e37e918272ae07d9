-- Checks that the parts of a log agree, in constant time: the size of each key, by head and
-- seal, and the tag. A log of an earlier version has neither tag nor seal until this version
-- writes to it; when an earlier version writes again, the seal stays behind and then only
-- proves where its mark lies.
local function hex(bytes)
  return ('%02x'):rep(#bytes):format(bytes:byte(1, -1))
end

local function counts()
  return redis.call('HLEN', META), redis.call('HLEN', MEMBERS),
    redis.call('ZCARD', DELETED), redis.call('HLEN', TRIMMED), redis.call('HLEN', READS)
end

-- The key that is gone, cut, another log's or of another type; nil if all is well. What the
-- sizes don't show is asked for its type.
local function fault(log)
  local isOdd = log.isHeadless or not log.tag ~= not log.seal
  if isOdd or log.seq < log.floor - 1 or log.rev < log.base then return META end
  local own = 0
  if log.tag then
    own = 1
    local strays, stray = 0, nil
    for _, key in ipairs({MESSAGES, IDS, MEMBERS, READS, TRIMMED}) do
      if redis.call('HGET', key, '\t\ttag') ~= log.tag then
        strays, stray = strays + 1, stray or key
      end
    end
    for _, key in ipairs({CHANGES, DELETED}) do
      if not redis.call('ZSCORE', key, '\t' .. log.tag) then
        strays, stray = strays + 1, stray or key
      end
    end
    if strays == 7 then return META end
    if stray then return stray end
  end
  local kept = log.seq - log.floor + 1 + own
  if redis.call('STRLEN', MARKS) ~= (log.rev - log.base) * 8 then return MARKS end
  if redis.call('HLEN', MESSAGES) ~= kept then return MESSAGES end
  if redis.call('ZCARD', CHANGES) ~= kept + 1 then return CHANGES end
  if redis.call('HLEN', IDS) ~= kept then return IDS end
  if REACTIONS and log.reactions > 0
    and redis.call('ZCARD', REACTIONS) ~= 3 * log.reactions
  then
    return REACTIONS
  end
  if log.mentions > 0 and redis.call('ZCARD', MENTIONS) ~= log.mentions then return MENTIONS end
  if not log.seal then return mistyped() end
  local rev, mark, meta, members, deleted, trimmed, reads =
    log.seal:match('^(%d+) (%x*) (%d+) (%d+) (%d+) (%d+) (%d+)$')
  rev = tonumber(rev)
  if not rev or rev > log.rev then return META end
  if rev > log.base and hex(markAt(log, rev)) ~= mark then return MARKS end
  if rev < log.rev then return mistyped() end
  local now = {counts()}
  if now[1] ~= tonumber(meta) then return META end
  if now[2] ~= tonumber(members) then return MEMBERS end
  if now[3] ~= tonumber(deleted) then return DELETED end
  if now[4] ~= tonumber(trimmed) then return TRIMMED end
  if now[5] < tonumber(reads) then return READS end
  return nil
end
