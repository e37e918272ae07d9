-- The log of departures (what left the list) is three keys in one slot: `meta` (`seq` the newest
-- place, `base` the first with a mark, `gone` the number kept, `list` the tag of the list, `print`
-- of the list as it was read last), `marks` (8 random bytes for each place from `base` on; those
-- of place 0 are of the log itself) and `gone` (the conversation, a tab and what identifies the
-- departure, by place). A log that was lost, or whose keys contradict each other, starts again
-- under new marks.
--
-- Joins have places, too, without being written there by those who join, who may be of an earlier
-- version: a reading that finds other entries than the reading before takes a place for them. So a
-- log that still has the place and the mark of a reading was not put back to before its entries.

-- Opens the log of departures, if it is whole.
local META, MARKS, GONE = unpack(KEYS)
local function open()
  for at, kind in ipairs({'hash', 'string', 'zset'}) do
    local seen = redis.call('TYPE', KEYS[at]).ok
    if seen ~= 'none' and seen ~= kind then return nil end
  end
  local found = redis.call('HMGET', META, 'seq', 'base', 'gone')
  local log = {
    seq = tonumber(found[1]), base = tonumber(found[2]), gone = tonumber(found[3])}
  if not log.seq or not log.base
    or redis.call('STRLEN', MARKS) ~= (log.seq - log.base + 1) * 8
    or redis.call('ZCARD', GONE) ~= log.gone
  then
    return nil
  end
  return log
end
local function markAt(log, place)
  return redis.call(
    'GETRANGE', MARKS, (place - log.base) * 8, (place - log.base) * 8 + 7)
end
local function int(n) return string.format('%.0f', n) end
-- Whether all that left since a place is kept.
local function keeps(log, place)
  if log.gone < 10000 then return true end
  local first = redis.call('ZRANGE', GONE, 0, 0, 'WITHSCORES')
  return place >= first[2] - 1
end
