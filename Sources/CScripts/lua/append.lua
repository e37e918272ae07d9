#!lua
-- include arguments publishing permitted whole writing reacting addressing dropping trimming
-- Arguments: caller (empty: the server API), the messages to retain, how long ids of trimmed
-- ones stay (ms), then for each message its id, whether the author gave it, author, hash, mark,
-- content, the id of the message to which it replies (may be empty), the users whom it is to
-- mention, with tabs between them, and whether it mentions everybody: 0 or 1, or 2 if the caller
-- must be an admin for that, where there are any. All is decided before the first one is written.
local caller, retain, span = take(3)
retain, span = tonumber(retain), tonumber(span)
local SIZE = 9
local count = (#ARGV - given) / SIZE
local function message(n) return unpack(ARGV, given + (n - 1) * SIZE + 1, given + n * SIZE) end
local log = open()
if not log or (caller ~= '' and redis.call('HEXISTS', MEMBERS, caller) == 0) then
  return {'absent'}
end
local fates, earlier, mentions = {}, {}, false
-- Whether the caller may mention everybody.
local function mayMentionAll()
  return redis.call('HGET', META, 'admins') == '0'
    or (redis.call('HGET', MEMBERS, caller) or ''):sub(1, 2) == '1\t'
end
local present = now()
for n = 1, count do
  local id, isGiven, author, hash, _, _, _, users, all = message(n)
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
  if not fates[n] then
    if all == '2' and caller ~= '' and not mayMentionAll() then return {'forbidden'} end
    mentions = mentions or users ~= '' or all ~= '0'
  end
end
-- While a slot moves, a node of a cluster can't tell where the key is, and says so here.
if mentions and log.mentions == 0 then redis.call('EXISTS', MENTIONS) end
-- To what a message replies and whom it mentions, as it is kept; nil: neither.
local function addressed(replyTo, users, all)
  if replyTo == '' and users == '' and all == '0' then return nil end
  local known = replyTo ~= '' and redis.call('HGET', IDS, replyTo)
  local place = known and known:match('^%d+')
  if replyTo ~= '' and not place then
    local gone = remembered(log, replyTo, present, span)
    place = gone and gone.place
  end
  local words = {all == '0' and '@0' or '@1', replyTo, place or ''}
  for user in users:gmatch('[^\t]+') do
    if redis.call('HEXISTS', MEMBERS, user) == 1 then words[#words + 1] = user end
  end
  if #words == 3 and replyTo == '' and all == '0' then return nil end
  return table.concat(words, '\n')
end
local time, sent, told, new = math.max(present, log.activity), {}, {''}, 0
local after = newest(log)
for n = 1, count do
  local id, _, author, hash, mark, content, replyTo, users, all = message(n)
  if not fates[n] then
    local address = addressed(replyTo, users, all)
    if address then content = address .. '\t' .. content end
    log.seq = log.seq + 1
    local slot = int(log.seq)
    advance(log, slot, mark)
    local value = table.concat(
      {int(log.rev), int(time), '', '0', id, author, content}, '\t')
    redis.call('HSET', MESSAGES, slot, value)
    enter(log, log.seq, author, address, true)
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
