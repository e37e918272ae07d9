#!lua flags=allow-oom
-- include arguments publishing permitted
-- Stores a request to disconnect a user for an hour, and publishes it. Key: the stream.
-- Arguments (after the command and channel): user, whether they may come back, the request's
-- nonce, and the three packed for the feed.
local user, back, nonce, packed = take(4)
local time = redis.call('TIME')
local oldest = (time[1] - 3600) * 1000
local id = redis.call(
  'XADD', KEYS[1], 'MINID', '=', string.format('%.0f', oldest), '*', 'user', user,
  'back', back, 'by', nonce)
redis.call(PUBLISH, CHANNEL, '10:disconnect' .. #id .. ':' .. id .. packed)
return {'done', id}
