-- Checks the types of all keys, for a script that writes whatever `fault` says.
do
  local key = mistyped()
  if key then return {'damaged', key} end
end
