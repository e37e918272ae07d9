#!lua flags=allow-oom
-- include arguments permitted whole
-- Arguments: epoch, rev and mark that a holder saw, new epoch. A trimmed mark is no reason:
-- its holder is behind, and the log is sound. Replies with the reason for the new epoch
-- (empty: none given).
local epoch, rev, mark, newEpoch = take(4)
rev = tonumber(rev)
local log = open()
if not log then return {'absent'} end
local reason = ''
if log.epoch == epoch and rev > log.base and not has(log, rev, mark) then
  reason = rev > log.rev and 'rewound' or 'forked'
  log.epoch = newEpoch
  redis.call('HSET', META, 'epoch', newEpoch)
end
return {'done', head(log), reason}
