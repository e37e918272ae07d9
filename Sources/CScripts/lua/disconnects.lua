#!lua flags=no-writes,allow-oom
-- include arguments
-- Key: the stream. Arguments: the first id, the number of entries. Replies with the server's
-- clock, in milliseconds, and the entries.
local first, count = take(2)
local time = redis.call('TIME')
return {
  'done', time[1] * 1000, redis.call('XRANGE', KEYS[1], first, '+', 'COUNT', count)}
