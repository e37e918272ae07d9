#!lua flags=allow-oom
-- include arguments publishing permitted whole writing reacting
-- Arguments: epoch and rev of the record that were decided on, the participants for the feed.
local epoch, record, described = take(3)
local log = open()
if not log or log.epoch ~= epoch or int(log.record) ~= record then return {'stale'} end
local distinct = redis.call('HGET', META, 'distinct')
for _, key in ipairs(KEYS) do redis.call('UNLINK', key) end
if log.mentions > 0 then redis.call('UNLINK', MENTIONS) end
publish(addParts({}, 'deleted', log.epoch), described)
return {'done', distinct}
