#!lua
-- include arguments publishing permitted whole writing reacting addressing dropping
-- Arguments: id; epoch, rev of the record and rev of the message that were decided on; `u`, `d` or
-- `r`, mark, author, content, and for `u` to whom the message is addressed (empty: to nobody). For
-- `r` the content is what the message shows of reactions; behind it are whose reaction, its key,
-- and whether it begins.
local id, epoch, record, seen, kind, mark, author, content, newAddress = take(9)
local log = open()
if not log or log.epoch ~= epoch or int(log.record) ~= record then return {'stale'} end
local known = redis.call('HGET', IDS, id)
if not known then return {'stale'} end
local slot = known:match('^%d+')
local value = redis.call('HGET', MESSAGES, slot) or ''
local rev, created, edited, gone = value:match('^(%d+)\t(%d+)\t(%d*)\t(%d)\t')
if rev ~= seen then return {'stale'} end
if newAddress ~= '' and log.mentions == 0 then redis.call('EXISTS', MENTIONS) end
if edited == '' and gone == '0' then
  redis.call('HSETNX', TRIMMED, '\t\t' .. slot, rev)
end
local after = newest(log)
advance(log, slot, mark)
local place, isDeleted = tonumber(slot), '0'
local shown, contentRev, body, address = parts(value)
if kind == 'u' then
  edited = int(math.max(now(), tonumber(created)))
  if shown then content = table.concat({shown, int(log.rev), content}, '\t') end
  takeOut(log, place, value)
  address = newAddress ~= '' and newAddress or nil
  enter(log, place, author, address, true)
elseif kind == 'r' then
  content = table.concat({content, contentRev or seen, body}, '\t')
  local user, key, isOn = take(3)
  react(log, slot, user, key, isOn == '1', now())
  kind = 'u'
else
  isDeleted = '1'
  takeOut(log, place, value)
  address = nil
  redis.call('ZADD', DELETED, slot, slot)
  dropReactions(log, slot, slot + 1)
  if log.last == place then
    -- From the newest slot that is not deleted on, tombstones are as many as slots.
    local low, high = math.max(log.floor, 1) - 1, place - 1
    while low < high do
      local middle = math.ceil((low + high) / 2)
      local gone = redis.call('ZCOUNT', DELETED, int(middle), int(place - 1))
      if gone < place - middle then low = middle else high = middle - 1 end
    end
    log.last = low >= log.floor and low or 0
  end
end
if address then content = address .. '\t' .. content end
value = table.concat(
  {int(log.rev), created, edited, isDeleted, id, author, content}, '\t')
redis.call('HSET', MESSAGES, slot, value)
save(log)
seal(log)
local event =
  addParts({}, 'messages', log.epoch, log.floor, log.seq, kind, slot, mark, value)
publish(event, '', after)
return {'done', head(log), 0, {{place, value}}}
