-- Removes keys of another type, which hold nothing of the log.
local step = take(1)
local isHeadRetyped = false
for at, kind in ipairs(kinds) do
  local seen = redis.call('TYPE', KEYS[at]).ok
  if step == 'begin' and seen ~= 'none' and seen ~= kind then
    redis.call('UNLINK', KEYS[at])
    isHeadRetyped = isHeadRetyped or at == 1
  end
end
