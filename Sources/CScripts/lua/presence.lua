#!lua flags=allow-oom
-- include arguments publishing permitted
-- Who is there: says users, renews a gateway's lease, reads users. Keys: the leases (a hash of
-- moments by gateway, with the era in @era and @began), the users (a hash), and the users by
-- when they were said last. A user's value has an entry for each gateway: its name, away,
-- since, said, and if it ended when and until when it counts; all in milliseconds of this
-- server's clock.
-- Arguments: gateway, the era that it knows, how it renews, lease, grace, retain, and how many
-- are said; of each user, away, and how long ago it began and ended (empty: it did not), and how
-- long it lasts; then whom to read.
local gateway, known, renewal, lease, grace, retain, count = take(7)
lease, grace, retain = tonumber(lease), tonumber(grace), tonumber(retain)
local LEASES, USERS, SAID = KEYS[1], KEYS[2], KEYS[3]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function int(number) return string.format('%.0f', number) end

-- A process or data of which nothing was known begins an era.
local process = redis.call('INFO', 'server'):match('run_id:(%w+)') or ''
local kept = redis.call('HMGET', LEASES, '@era', '@began')
local era, began = kept[1], tonumber(kept[2] or '')
if not era or not began or era:match('^%w*') ~= process then
  began = now
  era = process .. '-' .. int(now)
  redis.call('HSET', LEASES, '@era', era, '@began', int(now))
end

local function renewedAt(name) return tonumber(redis.call('HGET', LEASES, name) or '') end

local function entries(user)
  local all = {}
  local value = redis.call('HGET', USERS, user) or ''
  for name, away, since, said, ended, last in
    value:gmatch('(%w+),(%d),(%d+),(%d+),(%d*),(%d*);')
  do
    all[#all + 1] = {
      name = name, away = away == '1', since = tonumber(since), said = tonumber(said),
      ended = tonumber(ended), last = tonumber(last)}
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
        entry.ended and int(entry.ended) or '', entry.last and int(entry.last) or ''}, ',') .. ';'
    end
  end
  redis.call('HSET', USERS, user, table.concat(value))
  redis.call('ZADD', SAID, int(now), user)
end

-- A user stays since when they came: who remains takes it over from who leaves.
local function handOver(all, old, new)
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

local told = {'8:presence'}
for _ = 1, tonumber(count) do
  local user, away, begun, ended, lasts = take(5)
  local new = {name = gateway, away = away == '1', since = now - tonumber(begun), said = now}
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
if #told > 1 then publish(told) end

local held = renewedAt(gateway)
local renewed = renewal == 'whole'
  or known == era and (renewal == 'allSaid'
    or renewal == 'ifHeld' and held ~= nil and held + lease >= now)
if renewed then
  redis.call('HSET', LEASES, gateway, int(now))
  -- A few that are older than what is kept.
  local oldest = '(' .. int(now - retain)
  for _, user in ipairs(redis.call('ZRANGEBYSCORE', SAID, '-inf', oldest, 'LIMIT', 0, 100)) do
    local isOver = true
    for _, entry in ipairs(entries(user)) do isOver = isOver and over(entry) ~= nil end
    if isOver then
      redis.call('HDEL', USERS, user)
      redis.call('ZREM', SAID, user)
    else
      redis.call('ZADD', SAID, int(now), user)
    end
  end
end

local leases = {}
local all = redis.call('HGETALL', LEASES)
for at = 1, #all, 2 do
  local moment = tonumber(all[at + 1])
  if moment and all[at]:match('^%w+$') then
    if moment + lease + grace >= now then
      leases[#leases + 1] = all[at]
      leases[#leases + 1] = int(moment)
    elseif renewed and moment + retain < now then
      redis.call('HDEL', LEASES, all[at])
    end
  end
end

local users = {}
for at = given + 1, #ARGV do
  local user = ARGV[at]
  local found = {}
  for _, entry in ipairs(entries(user)) do
    for _, value in ipairs({
      entry.name, entry.away and '1' or '0', int(entry.since), int(entry.said),
      entry.ended and int(entry.ended) or '', entry.last and int(entry.last) or '',
      int(renewedAt(entry.name) or -1)})
    do found[#found + 1] = value end
  end
  users[#users + 1] = user
  users[#users + 1] = found
end
return {'done', int(now), era, int(began), renewed and 1 or 0, leases, users}
