#!lua flags=allow-oom
-- include arguments permitted departures
-- Arguments: the mark for a new log, the print of the list (empty if it was not read) and the
-- mark of a place for it, the place at which the list was read, then a mark and the departure
-- for each. Departures that are there already are not written again. Replies with how many
-- others entered since the list was read, the newest place with its mark, and the departures
-- written.
local first, print, printed, place = take(4)
local log = open()
local others = 0
if not log then
  local tag = redis.call('TYPE', META).ok == 'hash' and redis.call('HGET', META, 'list')
  for _, key in ipairs(KEYS) do redis.call('UNLINK', key) end
  if tag then redis.call('HSET', META, 'list', tag) end
  redis.call('SET', MARKS, first)
  redis.call('HSET', META, 'print', print)
  log = {seq = 0, base = 0, gone = 0}
else
  others = redis.call('ZCOUNT', GONE, '(' .. place, '+inf')
end
local written = {}
for _ = given + 1, #ARGV, 2 do
  local mark, departure = take(2)
  if not redis.call('ZSCORE', GONE, departure) then
    log.seq, log.gone = log.seq + 1, log.gone + 1
    redis.call('ZADD', GONE, int(log.seq), departure)
    redis.call('APPEND', MARKS, mark)
    written[#written + 1] = departure
  end
end
if print ~= '' and redis.call('HGET', META, 'print') ~= print then
  log.seq = log.seq + 1
  redis.call('APPEND', MARKS, printed)
  redis.call('HSET', META, 'print', print)
end
if log.gone > 10000 then
  redis.call('ZREMRANGEBYRANK', GONE, 0, log.gone - 10001)
  log.gone = 10000
end
if log.seq - log.base > 20000 then
  local base = log.seq - 10000
  redis.call(
    'SET', MARKS, redis.call('GETRANGE', MARKS, (base - log.base) * 8, -1))
  log.base = base
end
redis.call(
  'HSET', META, 'seq', int(log.seq), 'base', int(log.base), 'gone', int(log.gone))
return {'done', others, log.seq, markAt(log, log.seq), written}
