#!lua flags=no-writes,allow-oom
-- include arguments log judging guarding
local function read()
  local refusal = damaged()
  if refusal then return refusal end
  local log = open()
  if not log then return {'absent'} end
  return {'done', head(log)}
end
-- include reading
