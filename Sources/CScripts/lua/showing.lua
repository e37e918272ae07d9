-- Builds the parts of a reply about a conversation.
-- include addressing
-- The head's seq when a user joined.
local function joinedSeq(user)
  local row = redis.call('HGET', MEMBERS, user) or ''
  return tonumber(
    row:match('^[^\t]*\t[^\t]*\t[^\t]*\t[^\t]*\t{"joinedSeq":(%d+)')) or 0
end

-- How many messages above a slot others mention a user in.
local function mentioned(log, user, above)
  if log.mentions == 0 then return 0 end
  local function count(name)
    return redis.call(
      'ZLEXCOUNT', MENTIONS, '(' .. name .. '\t' .. placed(above), '(' .. name .. '\n')
  end
  return count(named(user)) + count('a') - count(namedAsAuthor(user))
end

local function reading(log, user)
  local place = tonumber(redis.call('HGET', READS, user)) or 0
  local start = math.max(place, log.floor - 1)
  local gone = redis.call('ZCOUNT', DELETED, '(' .. int(start), '+inf')
  local unread, mentions = math.max(0, log.seq - start) - gone, 0
  if unread > 0 and log.mentions > 0 then
    mentions = mentioned(log, user, math.max(start, joinedSeq(user)))
  end
  return {place, unread, mentions}
end

-- Who takes part: all, or, of more than a reply lists, the admins and who is named. An
-- earlier version does not write down who is admin; then all are looked at.
local function people(log, named)
  local count = redis.call('HLEN', MEMBERS) - (log.tag and 1 or 0)
  local found = named and count > 100 and redis.call('HGET', META, 'rulers') or ''
  local rev, rulers = found:match('^(%d+)\t(.*)$')
  if tonumber(rev) ~= log.record then return redis.call('HGETALL', MEMBERS), -1 end
  local shown, seen, at = {}, {}, 1
  local function add(user)
    local value = not seen[user] and redis.call('HGET', MEMBERS, user)
    seen[user] = true
    if value then shown[#shown + 1], shown[#shown + 2] = user, value end
  end
  while at <= #rulers do
    local _, last, size = rulers:find('^(%d+):', at)
    if not last then return redis.call('HGETALL', MEMBERS), -1 end
    add(rulers:sub(last + 1, last + size))
    at = last + size + 1
  end
  for _, user in ipairs(named) do add(user) end
  return shown, count
end

local function show(log, user, named)
  local last, reader = {}, {}
  if log.last > 0 then
    last = {log.last, redis.call('HGET', MESSAGES, int(log.last))}
  end
  if user ~= '' and redis.call('HEXISTS', MEMBERS, user) == 1 then
    reader = reading(log, user)
    if named then named[#named + 1] = user end
  end
  local members, count = people(log, named)
  local found = redis.call(
    'HMGET', META, 'title', 'metadata', 'unknown', 'createdAt', 'updatedAt', 'distinct',
    'createdBy')
  return {'done', head(log), log.record, found, members, last, reader, 0, count}
end
