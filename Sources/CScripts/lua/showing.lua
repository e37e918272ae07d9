-- Builds the parts of a reply about a conversation.
local function reading(log, user)
  local place = tonumber(redis.call('HGET', READS, user)) or 0
  local start = math.max(place, log.floor - 1)
  local gone = redis.call('ZCOUNT', DELETED, '(' .. int(start), '+inf')
  return {place, math.max(0, log.seq - start) - gone}
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
