#!lua
-- include arguments publishing permitted whole writing showing
-- Arguments: user, seq.
local user, seq = take(2)
seq = tonumber(seq)
local log = open()
if not log or redis.call('HEXISTS', MEMBERS, user) == 0 then return {'absent'} end
if seq < 0 or seq > log.seq then return {'range', log.seq} end
local place = tonumber(redis.call('HGET', READS, user)) or 0
if seq > place then
  redis.call('HSETNX', READS, '\t' .. user, int(place))
  redis.call('HSET', READS, user, int(seq))
  if log.seal and log.seal:match('^%d+') == int(log.rev) then seal(log) end
  publish(addParts({}, 'read', user, seq))
end
return {'done', reading(log, user)}
