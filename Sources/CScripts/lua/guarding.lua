-- The answer for a log whose parts don't agree: it is neither read nor written.
local function damaged()
  local log = open()
  local part = log and fault(log)
  return part and {'damaged', part}
end
