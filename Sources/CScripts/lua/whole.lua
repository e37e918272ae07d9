-- include log judging
-- A script that writes first looks at all keys: a command that fails half-way would leave
-- earlier writes. What `fault` asks of each key fails where that is of another type; only then
-- the types are asked for, nine commands of some fifty.
do
  local isDone, part = pcall(function()
    local log = open()
    return log and fault(log)
  end)
  if not isDone then
    local key = mistyped()
    if not key then error(part) end
    part = key
  end
  if part then return {'damaged', part} end
end
