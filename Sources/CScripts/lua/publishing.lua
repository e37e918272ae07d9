PUBLISH, CHANNEL = take(2)

local function publish(event, rest, after)
  local trailer = after and '~' .. after or ''
  redis.call(PUBLISH, CHANNEL, table.concat(event) .. (rest or '') .. trailer)
end
