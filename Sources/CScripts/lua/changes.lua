#!lua flags=no-writes,allow-oom
-- include arguments log judging guarding proving showing
-- Arguments: bytes, limit, since, whether there is a mark, mark, a rev (may be empty) above
-- which the record is added too. Replies with the slots that changed after `since`, smallest
-- rev first, the record as a view; the next `since`.
local function read()
  local refusal = damaged() or unproved()
  if refusal then return refusal end
  local bytes, limit, since, isMarked, mark, above = take(6)
  bytes, limit, since = tonumber(bytes), tonumber(limit), tonumber(since)
  local log = open()
  if not log then return {'absent'} end
  local isKnown = since <= log.rev
  if isMarked == '1' then isKnown = has(log, since, mark) end
  if not isKnown then return {'conflict'} end
  local slots = redis.call(
    'ZRANGEBYSCORE', CHANGES, '(' .. int(since), '+inf', 'WITHSCORES', 'LIMIT', 0, limit + 1)
  local messages, record, taken, more, upTo = {}, {}, 0, false, since
  for at = 1, #slots, 2 do
    if at > 2 * limit or taken > bytes then
      more = true
      break
    end
    upTo = tonumber(slots[at + 1])
    if slots[at] == '0' then
      record = show(log, '')
    else
      local value = redis.call('HGET', MESSAGES, slots[at])
      if not value then return {'damaged', MESSAGES} end
      taken = taken + #value
      messages[#messages + 1] = {tonumber(slots[at]), value}
    end
  end
  if not more then upTo = log.rev end
  above = tonumber(above)
  if above and tonumber(redis.call('ZSCORE', CHANGES, '0') or 0) > above then
    record = show(log, '')
  end
  return {'done', head(log), messages, record, upTo, more and 1 or 0}
end
-- include reading
