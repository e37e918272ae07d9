#!lua flags=no-writes,allow-oom
-- include arguments log judging proving showing
-- Arguments: viewer (may be empty); `1` to show a log whose members are damaged without any,
-- which the reply then says; `1` to show, of more members than a reply lists, only the admins,
-- the viewer and the users named behind.
local function read()
  local refusal = unproved()
  if refusal then return refusal end
  local viewer, mends, names = take(3)
  local log = open()
  if not log then return {'absent'} end
  local part = fault(log)
  if part and (part ~= MEMBERS or mends ~= '1') then return {'damaged', part} end
  local named = names == '1' and {unpack(ARGV, given + 1)} or nil
  local shown = show(log, viewer, named)
  if part then shown[5], shown[8] = {}, 1 end
  return shown
end
-- include reading
