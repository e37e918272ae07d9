-- The answer for a log that lacks the change which its asker has seen, or has it with another
-- mark: it may be another branch. The arguments begin with the rev and the mark, or two empty ones.
local function unproved()
  local rev, mark = take(2)
  local log = rev ~= '' and open()
  return log and not has(log, tonumber(rev), mark) and {'lost'}
end
