#!lua
-- include arguments permitted
-- Claims the distinct conversation of some people for an id, by compare-and-set. Key: the
-- people's. Arguments: the id seen (empty: none), the new one (empty: none). Replies with the
-- present id.
local seen, new = take(2)
local present = redis.call('GET', KEYS[1]) or ''
if present == seen then
  present = new
  if present == '' then
    redis.call('DEL', KEYS[1])
  else
    redis.call('SET', KEYS[1], present)
  end
end
return {'done', present}
