#!lua flags=no-writes,allow-oom
-- include arguments departures
-- Arguments: a place and its mark. Replies with the clock, in milliseconds, the newest place
-- with its mark, whether the given place is of this log and near enough, what left since, the
-- tag of the list, and the print of what was read of it last; or `fresh`, with whether
-- something of a log is there, and the tag, if there is no log.
local place, mark = take(2)
local time = redis.call('TIME')
local now = time[1] * 1000
local log = open()
local isHash = redis.call('TYPE', META).ok == 'hash'
local tag = isHash and redis.call('HGET', META, 'list') or ''
if not log then
  local rest = redis.call('EXISTS', MARKS, GONE)
  if isHash then
    rest = rest + redis.call('HEXISTS', META, 'seq')
  else
    rest = rest + redis.call('EXISTS', META)
  end
  return {'fresh', now, rest, tag}
end
place = tonumber(place)
local isKnown = place and place <= log.seq and place >= log.base
  and keeps(log, place) and markAt(log, place) == mark
local gone = {}
if isKnown then
  gone = redis.call('ZRANGEBYSCORE', GONE, '(' .. int(place), '+inf')
end
local print = redis.call('HGET', META, 'print') or ''
return {'done', now, log.seq, markAt(log, log.seq), isKnown and 1 or 0, gone, tag, print}
