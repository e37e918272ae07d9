-- To what a message replies and whom it mentions: parts with line feeds between them, which stand
-- before its content where there are any: `@`, and 1 if it mentions everybody, else 0; the id of
-- the message to which it replies, and its slot (either may be empty); the users whom it mentions.
local function named(user) return 'u' .. #user .. ':' .. user end
local function namedAsAuthor(user) return 'o' .. #user .. ':' .. user end

-- The names of a message's entries in `mentions`.
local function namesOf(address, author)
  local words, names = {}, {}
  for word in (address .. '\n'):gmatch('([^\n]*)\n') do words[#words + 1] = word end
  if words[1] == '@1' then return {'a', namedAsAuthor(author)} end
  for at = 4, #words do
    if words[at] ~= author then names[#names + 1] = named(words[at]) end
  end
  return names
end

-- Enters where a message mentions somebody, or takes it out.
local function enter(log, slot, author, address, isIn)
  local names = address and namesOf(address, author) or {}
  if #names == 0 then return end
  if isIn and log.mentions == 0 then redis.call('UNLINK', MENTIONS) end
  for _, name in ipairs(names) do
    local entry = name .. '\t' .. placed(slot)
    if isIn then
      log.mentions = log.mentions + redis.call('ZADD', MENTIONS, 0, entry)
    else
      log.mentions = log.mentions - redis.call('ZREM', MENTIONS, entry)
    end
  end
  redis.call('HSET', META, 'mentions', int(log.mentions))
end

-- A message is gone, or mentions others from now on.
local function takeOut(log, slot, value)
  if log.mentions == 0 then return end
  local author, address = value:match(
    '^%d+\t%d+\t%d*\t%d\t[^\t]*\t([^\t]*)\t(@[^\t]*)\t')
  enter(log, slot, author, address, false)
end
