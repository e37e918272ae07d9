#!lua
-- include arguments publishing permitted log typing judging writing showing
-- Arguments: epoch and rev of the record that were decided on (both empty: the conversation
-- must not exist), new epoch, mark, viewer, title after a `=` (empty: none), metadata, unknown
-- fields, the number of admins afterwards, the key of a distinct conversation, the client that
-- creates it (empty: the backend), the record for the feed, whether damaged members are
-- replaced, the first word of the event, the admins afterwards, the number of rows to write;
-- for each row user, whether admin, when joined (empty: now, behind all others), fields; then
-- the users who leave.
local epoch, record, newEpoch, mark, viewer, title, metadata, unknown, admins, distinct,
  creator, described, mends, word, rulers, written = take(16)
local log, isNew = open(), '0'
local part = log and fault(log)
if part and (part ~= MEMBERS or mends == '0') then return {'damaged', part} end
-- Somebody has mended it.
if mends == '1' and not part then return {'stale'} end
if epoch == '' then
  if log then return {'taken'} end
  -- What a conversation without its meta left behind is nobody's.
  for _, key in ipairs(KEYS) do redis.call('UNLINK', key) end
  log = {
    epoch = newEpoch, seq = 0, rev = 0, floor = 1, activity = 0, last = 0, record = 0,
    base = 0, mentions = 0}
  isNew = '1'
elseif not log or log.epoch ~= epoch or int(log.record) ~= record then
  return {'stale'}
end
local times = redis.call('HMGET', META, 'createdAt', 'updatedAt', 'places')
local updated = math.max(now(), tonumber(times[2]) or 0)
local created, places = tonumber(times[1]) or updated, tonumber(times[3]) or 0
local after = newest(log)
advance(log, '0', mark)
log.record, log.activity = log.rev, math.max(updated, log.activity)
-- A user who leaves or joins has read what they wrote themselves, and no more. In a log of an
-- earlier version that is not known of every user.
local function unread(users)
  local names = {}
  for n, user in ipairs(users) do names[n] = '\t' .. user end
  for n, own in ipairs(redis.call('HMGET', READS, unpack(names))) do
    if own == '0' then redis.call('HDEL', READS, users[n], names[n]) end
    if own and own ~= '0' then redis.call('HSET', READS, users[n], own) end
  end
end
-- A thousand people must not take two thousand commands.
local function inParts(list, first, last, take)
  for low = first, last, 500 do take({unpack(list, low, math.min(low + 499, last))}) end
end
if mends == '1' then
  redis.call('UNLINK', MEMBERS)
  if log.tag then redis.call('HSET', MEMBERS, '\t\ttag', log.tag) end
end
local stamp, rows, joins = int(updated), {}, {}
-- First, since a user who leaves may come back with the same call.
inParts(ARGV, given + 4 * tonumber(written) + 1, #ARGV, function(users)
  redis.call('HDEL', MEMBERS, unpack(users))
  unread(users)
end)
for _ = 1, tonumber(written) do
  local user, isAdmin, joined, fields = take(4)
  if joined == '' then
    joins[#joins + 1] = user
    places = places + 1
    joined = int(places) .. '\t' .. stamp
    if log.seq > 0 then
      local rest = fields == '{}' and '}' or ',' .. fields:sub(2)
      fields = '{"joinedSeq":' .. int(log.seq) .. rest
    end
  end
  rows[#rows + 1] = user
  rows[#rows + 1] = isAdmin .. '\t' .. joined .. '\t' .. stamp .. '\t' .. fields
end
-- A new log has no markers.
if mends == '0' and isNew == '0' then inParts(joins, 1, #joins, unread) end
inParts(rows, 1, #rows, function(part) redis.call('HSET', MEMBERS, unpack(part)) end)
save(log)
redis.call(
  'HSET', META, 'createdAt', int(created), 'updatedAt', int(updated), 'places',
  int(places), 'metadata', metadata, 'unknown', unknown, 'admins', admins, 'rulers',
  int(log.record) .. '\t' .. rulers)
if distinct ~= '' then redis.call('HSET', META, 'distinct', distinct) end
if creator ~= '' then redis.call('HSET', META, 'createdBy', creator) end
if title == '' then
  redis.call('HDEL', META, 'title')
else
  redis.call('HSET', META, 'title', title:sub(2))
end
seal(log)
local event = addParts(
  {}, word, log.epoch, log.floor, log.seq, log.rev, mark, isNew, created, updated)
publish(event, described, after)
return show(log, viewer, {})
