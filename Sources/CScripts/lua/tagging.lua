-- The list is a sorted set in a slot of its own, shared with earlier versions: every conversation
-- in which the user takes part, and perhaps some more, scored by the time at which it was entered,
-- on the server's clock. The conversation decides whether the user takes part. An entry with a tab
-- before its name is the list's tag; its score counts the other entries.
-- The scores of tags begin above every time.
local LIST, ABOVE = KEYS[1], 2 ^ 52
local function int(n) return string.format('%.0f', n) end
local function now()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
local function tagged()
  local found = redis.call('ZRANGE', LIST, -1, -1, 'WITHSCORES')
  if found[1] and found[1]:byte() == 9 then return found[1], found[2] - ABOVE end
end
local function tag(name, count) redis.call('ZADD', LIST, int(ABOVE + count), name) end
