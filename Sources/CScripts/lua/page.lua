#!lua flags=no-writes,allow-oom
-- include arguments log judging guarding proving
-- Arguments: bytes, limit, order, then for `before`, `after` and `around` the kind of anchor
-- (empty: none) and the anchor. Replies with the messages newest first.
local function read()
  local refusal = damaged() or unproved()
  if refusal then return refusal end
  local bytes, limit, order = take(3)
  bytes, limit = tonumber(bytes), tonumber(limit)
  local log = open()
  if not log then return {'absent'} end

  -- The places right below and right above which a page continues; for a message both are
  -- its own. Messages are in the order of their moments, so halving finds one.
  local function place(kind, anchor)
    if kind == 'seq' then return tonumber(anchor), tonumber(anchor) end
    if kind == 'id' then
      local known = redis.call('HGET', IDS, anchor)
      local seq = known and tonumber(known:match('^%d+'))
      return seq, seq
    end
    local moment, low, high = tonumber(anchor), log.floor - 1, log.seq + 1
    while low + 1 < high do
      local middle = math.floor((low + high) / 2)
      local value = redis.call('HGET', MESSAGES, int(middle)) or ''
      local created = tonumber(value:match('^%d+\t(%d+)'))
      if created and created < moment then low = middle else high = middle end
    end
    return high - 1, high
  end

  local function walk(from, to, step, most)
    local found, taken = {}, 0
    while #found < limit and taken <= most and (to - from) * step >= 0 do
      local value = redis.call('HGET', MESSAGES, int(from))
      if value then
        found[#found + 1] = {from, value}
        taken = taken + #value
      end
      from = from + step
    end
    return found, taken
  end
  local function below(upper, lower, most)
    return walk(
      math.min(upper - 1, log.seq), math.max(lower + 1, log.floor), -1, most or bytes)
  end
  local function above(lower, upper, most)
    return walk(
      math.max(lower + 1, log.floor), math.min(upper - 1, log.seq), 1, most or bytes)
  end
  local function reversed(list)
    local result = {}
    for at = #list, 1, -1 do result[#result + 1] = list[at] end
    return result
  end

  local lower, upper = {}, {}
  for _, name in ipairs({'before', 'after', 'around'}) do
    local kind, anchor = take(2)
    if kind ~= '' and name == 'around' and (lower.before or lower.after) then
      return {'crossed'}
    end
    if kind ~= '' then
      lower[name], upper[name] = place(kind, anchor)
      if not lower[name] then return {'missing', name} end
    end
  end
  local page, older, newer
  if upper.around then
    local value = lower.around == upper.around
      and redis.call('HGET', MESSAGES, int(lower.around))
    -- The newer side may take half of the bytes, the older side all that is left.
    local room = bytes - (value and #value or 0)
    local found, taken = above(lower.around, math.huge, room / 2)
    page = reversed(found)
    if value then page[#page + 1] = {lower.around, value} end
    for _, message in ipairs((below(upper.around, 0, room - taken))) do
      page[#page + 1] = message
    end
    older, newer = upper.around, lower.around
  elseif upper.before and (order == 'desc' or not upper.after) then
    page = below(upper.before, lower.after or 0)
    older, newer = upper[upper.after and 'after' or 'before'], lower.before
  elseif upper.after then
    page = reversed(above(lower.after, upper.before or math.huge))
    older, newer = upper.after, lower[upper.before and 'before' or 'after']
  else
    page = below(math.huge, 0)
    older, newer = 0, math.huge
  end
  if #page > 0 then older, newer = page[#page][1], page[1][1] end
  local moreBefore = math.min(older - 1, log.seq) >= log.floor
  local moreAfter = math.max(newer + 1, log.floor) <= log.seq
  return {'done', head(log), page, moreBefore and 1 or 0, moreAfter and 1 or 0}
end
-- include reading
