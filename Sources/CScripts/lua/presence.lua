#!lua flags=allow-oom
-- include arguments publishing permitted
-- Who is there: says users, renews a gateway's lease, reads users. Keys: the leases (gateways by
-- when they renewed), the gateways (a hash: the number of the latest call, and when the era
-- began in which the lease was renewed; and the era in @era, @began and @young), the users (a
-- hash), and the users by when they were said last. A user's value has an entry for each
-- gateway: its name, away, since, said, when the era of that began, and if it ended when and
-- until when it counts; all in milliseconds of this server's clock.
-- Arguments: gateway, the call's number, the era that it knows, how it renews, lease, grace,
-- retain, and how many are said; of each user, away, and how long ago it began and ended (empty:
-- it did not), and how long it lasts; then whom to read.
local gateway, number, known, renewal, lease, grace, retain, count = take(8)
lease, grace, retain = tonumber(lease), tonumber(grace), tonumber(retain)
number = tonumber(number)
local LEASES, GATEWAYS, USERS, SAID = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function int(value) return string.format('%.0f', value) end

-- A process, a failover or data of which nothing was known begins an era.
local process = (redis.call('INFO', 'server'):match('run_id:(%w+)') or '')
  .. (redis.call('INFO', 'replication'):match('master_replid:(%w+)') or '')
local kept = redis.call('HMGET', GATEWAYS, '@era', '@began', '@young')
local era, began, young = kept[1], tonumber(kept[2] or ''), tonumber(kept[3] or '')
if not era or not began or not young or era:match('^%w*') ~= process then
  began, young = now, now + lease
  era = process .. '-' .. int(now)
  redis.call('HSET', GATEWAYS, '@era', era, '@began', int(began), '@young', int(young))
end

local function renewedAt(name) return tonumber(redis.call('ZSCORE', LEASES, name) or '') end

-- The number of the gateway's latest call, and when the era of its lease began.
local function heardOf(name)
  local latest, of = (redis.call('HGET', GATEWAYS, name) or ''):match('^(%d+),(%d*)$')
  return tonumber(latest) or 0, tonumber(of)
end

local function entries(user)
  local all = {}
  local value = redis.call('HGET', USERS, user) or ''
  for name, away, since, said, of, ended, last in
    value:gmatch('(%w+),(%d),(%d+),(%d+),(%d+),(%d*),(%d*);')
  do
    all[#all + 1] = {
      name = name, away = away == '1', since = tonumber(since), said = tonumber(said),
      era = tonumber(of), ended = tonumber(ended), last = tonumber(last)}
  end
  return all
end

-- When it was over; nil: it may not be.
local function over(entry)
  if entry.ended then return entry.last <= now and entry.ended or nil end
  if entry.name == gateway then return nil end
  local heard = math.max(renewedAt(entry.name) or 0, entry.said)
  return heard + lease + grace < now and heard or nil
end

local function store(user, all)
  local value, latest = {}, nil
  for _, entry in ipairs(all) do
    local ended = over(entry)
    if ended then
      entry.ended, entry.last = ended, ended
      if not latest or latest.ended < ended then latest = entry end
    end
  end
  -- Of those that are over, the last one says since when the user is absent.
  for _, entry in ipairs(all) do
    if not entry.ended or entry.last > now or entry == latest then
      value[#value + 1] = table.concat({
        entry.name, entry.away and '1' or '0', int(entry.since), int(entry.said),
        int(entry.era), entry.ended and int(entry.ended) or '',
        entry.last and int(entry.last) or ''}, ',') .. ';'
    end
  end
  redis.call('HSET', USERS, user, table.concat(value))
  redis.call('ZADD', SAID, int(now), user)
end

-- A user stays since when they came: who remains takes it over from who leaves, and who comes
-- from who left and still counts.
local function handOver(all, old, new)
  for _, entry in ipairs(all) do
    if entry ~= new and not new.ended and entry.away == new.away and entry.ended
      and entry.last > now
    then
      new.since = math.min(new.since, entry.since)
    end
  end
  if not old or old.ended then return end
  if old.away == new.away and not new.ended then return end
  local remain
  for _, entry in ipairs(all) do
    if entry ~= new and not entry.ended and entry.away == old.away then
      entry.since = math.min(entry.since, old.since)
      remain = true
    end
  end
  if old.away or remain then return end
  for _, entry in ipairs(all) do
    if entry.away and not entry.ended then
      entry.since = math.max(entry.since, new.ended or new.since)
    end
  end
end

local latest, renewedIn = heardOf(gateway)
local isOvertaken = number < latest
local told = {'8:presence'}
for _ = 1, tonumber(count) do
  local user, away, begun, ended, lasts = take(5)
  if not isOvertaken then
    local new = {
      name = gateway, away = away == '1', since = now - tonumber(begun), said = now, era = began}
    if ended ~= '' then new.ended, new.last = now - tonumber(ended), now + tonumber(lasts) end
    local all, old = {}, nil
    for _, entry in ipairs(entries(user)) do
      if entry.name == gateway then old = entry else all[#all + 1] = entry end
    end
    all[#all + 1] = new
    handOver(all, old, new)
    store(user, all)
    told[#told + 1] = #user .. ':' .. user
  end
end
if #told > 1 then publish(told) end

local held = renewedAt(gateway)
local renewed = not isOvertaken and (renewal == 'whole'
  or known == era and (renewal == 'allSaid'
    or renewal == 'ifHeld' and held ~= nil and held + lease >= now))
if renewed then
  renewedIn = began
  redis.call('ZADD', LEASES, int(now), gateway)
  local oldest = '(' .. int(now - retain)
  -- A few that are older than what is kept.
  for _, user in ipairs(redis.call('ZRANGEBYSCORE', SAID, '-inf', oldest, 'LIMIT', 0, 100)) do
    local isOld = true
    for _, entry in ipairs(entries(user)) do
      local ended = over(entry)
      isOld = isOld and ended ~= nil and ended < now - retain
    end
    if isOld then
      redis.call('HDEL', USERS, user)
      redis.call('ZREM', SAID, user)
    else
      redis.call('ZADD', SAID, int(now), user)
    end
  end
  for _, name in ipairs(redis.call('ZRANGEBYSCORE', LEASES, '-inf', oldest, 'LIMIT', 0, 100)) do
    redis.call('HDEL', GATEWAYS, name)
    redis.call('ZREM', LEASES, name)
  end
elseif #told > 1 and renewedIn ~= began and now < young then
  -- A gateway that is still saying its users in this era keeps it young.
  young = now + lease
  redis.call('HSET', GATEWAYS, '@young', int(young))
end
if not isOvertaken and (renewed or #told > 1) then
  redis.call('HSET', GATEWAYS, gateway, int(number) .. ',' .. (renewedIn and int(renewedIn) or ''))
end

local leases = {}
local all = redis.call(
  'ZRANGEBYSCORE', LEASES, int(now - lease - grace), '+inf', 'WITHSCORES')
for at = 1, #all, 2 do
  leases[#leases + 1] = all[at]
  leases[#leases + 1] = int(tonumber(all[at + 1]))
end

local users = {}
for at = given + 1, #ARGV do
  local user = ARGV[at]
  local found = {}
  for _, entry in ipairs(entries(user)) do
    local _, of = heardOf(entry.name)
    for _, value in ipairs({
      entry.name, entry.away and '1' or '0', int(entry.since), int(entry.said),
      entry.ended and int(entry.ended) or '', entry.last and int(entry.last) or '',
      int(renewedAt(entry.name) or -1), entry.era ~= began and of == began and '1' or '0'})
    do found[#found + 1] = value end
  end
  users[#users + 1] = user
  users[#users + 1] = found
end
return {'done', int(now), era, int(began), renewed and 1 or 0, leases, users, int(young)}
