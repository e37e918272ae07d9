-- A script whose user lacks a right would stop half-way: Redis judges each command when it is
-- called. So one that writes asks about all of its commands before it calls the first. The gateway
-- writes their names here.
do
  local missing
  if PUBLISH and not redis.acl_check_cmd(PUBLISH, CHANNEL, '') then missing = PUBLISH end
  for name in ('{calls}'):gmatch('%u+') do
    if not redis.acl_check_cmd(name) then missing = name end
  end
  if missing then return redis.error_reply('NOPERM its user may not ' .. missing) end
end
