#!lua
-- include arguments publishing permitted whole writing reacting dropping trimming
-- Arguments: caller (empty: the server API), the messages to retain, how long ids of trimmed
-- ones stay (ms), then for each message its id, whether the author gave it, author, hash, mark
-- and content. All is decided before the first one is written.
local caller, retain, span = take(3)
retain, span = tonumber(retain), tonumber(span)
local SIZE = 6
local count = (#ARGV - given) / SIZE
local function message(n) return unpack(ARGV, given + (n - 1) * SIZE + 1, given + n * SIZE) end
local log = open()
if not log or (caller ~= '' and redis.call('HEXISTS', MEMBERS, caller) == 0) then
  return {'absent'}
end
local fates, earlier = {}, {}
local present = now()
for n = 1, count do
  local id, isGiven, author, hash = message(n)
  if isGiven == '1' then
    local known = redis.call('HGET', IDS, id)
    local gone = not known and remembered(log, id, present, span)
    if known then
      local place, first, by = known:match('^(%d+)\t(%x+)\t(.*)$')
      if first ~= hash or by ~= author then return {'taken'} end
      fates[n] = {known = place}
    elseif gone then
      if gone.hash ~= hash or gone.author ~= author then return {'taken'} end
      fates[n] = {gone = {tonumber(gone.place), gone.value}}
    elseif earlier[id] then
      local same = earlier[id]
      if same.hash ~= hash or same.author ~= author then return {'taken'} end
      fates[n] = {again = same.at}
    else
      earlier[id] = {at = n, hash = hash, author = author}
    end
  end
end
local time, sent, told, new = math.max(present, log.activity), {}, {''}, 0
local after = newest(log)
for n = 1, count do
  local id, _, author, hash, mark, content = message(n)
  if not fates[n] then
    log.seq = log.seq + 1
    local slot = int(log.seq)
    advance(log, slot, mark)
    local value = table.concat(
      {int(log.rev), int(time), '', '0', id, author, content}, '\t')
    redis.call('HSET', MESSAGES, slot, value)
    redis.call('HSET', IDS, id, slot .. '\t' .. hash .. '\t' .. author)
    redis.call('HSET', READS, author, slot, '\t' .. author, slot)
    log.last, new = log.seq, new + 1
    sent[n], told = {log.seq, value}, addParts(told, 'i', slot, mark, value)
  elseif fates[n].known then
    local place = fates[n].known
    sent[n] = {tonumber(place), redis.call('HGET', MESSAGES, place)}
  elseif fates[n].gone then
    sent[n] = fates[n].gone
  else
    sent[n] = sent[fates[n].again]
  end
end
if new > 0 then
  log.activity = time
  trim(log, retain, present, span)
  save(log)
  seal(log)
  told[1] = table.concat(addParts({}, 'messages', log.epoch, log.floor, log.seq))
  publish(told, '', after)
end
return {'done', head(log), new, sent}
