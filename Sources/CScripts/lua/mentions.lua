#!lua flags=no-writes,allow-oom
-- include arguments log judging guarding showing
-- Arguments: a user, a seq, limit. Replies with the number of all messages in which others mention
-- the user, and seq and id of the first of them above the seq.
local function read()
  local refusal = damaged()
  if refusal then return refusal end
  local user, after, limit = take(3)
  limit = tonumber(limit)
  local log = open()
  if not log or redis.call('HEXISTS', MEMBERS, user) == 0 then return {'absent'} end
  local start = math.max(joinedSeq(user), log.floor - 1)
  local total, slots, found = mentioned(log, user, start), {}, {}
  if total == 0 then return {'done', 0, found} end
  -- Of each kind as many as are asked for: together the oldest of all.
  local function walk(name, own)
    local low, count = placed(math.max(start, tonumber(after))), 0
    repeat
      local part, mine = redis.call(
        'ZRANGEBYLEX', MENTIONS, '(' .. name .. '\t' .. low, '(' .. name .. '\n',
        'LIMIT', 0, 500), {}
      if own and #part > 0 then
        for _, entry in ipairs(redis.call(
          'ZRANGEBYLEX', MENTIONS, '(' .. own .. '\t' .. low,
          '[' .. own .. '\t' .. part[#part]:sub(-16)))
        do mine[entry:sub(-16)] = true end
      end
      for _, entry in ipairs(part) do
        low = entry:sub(-16)
        if count < limit and not mine[low] then
          slots[#slots + 1], count = tonumber(low), count + 1
        end
      end
    until #part < 500 or count >= limit
  end
  walk(named(user))
  -- What the user wrote to everybody is left out, a part at a time.
  walk('a', namedAsAuthor(user))
  table.sort(slots)
  for at = 1, math.min(limit, #slots) do
    local value = redis.call('HGET', MESSAGES, int(slots[at])) or ''
    found[#found + 1] = slots[at]
    found[#found + 1] = value:match('^%d+\t%d+\t%d*\t%d\t([^\t]*)\t') or ''
  end
  return {'done', total, found}
end
-- include reading
