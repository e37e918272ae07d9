-- Who reacts to messages, for scripts that read or write it. No key of a reaction has a tab, and a
-- tab is right below a line feed.
local function placed(slot) return string.format('%016.0f', slot) end
local function ofKey(slot, key) return placed(slot) .. 'k' .. key .. '\t' end
local function ofUser(slot, user) return placed(slot) .. 'u' .. #user .. ':' .. user .. '\t' end

-- The entries that begin with a text which ends with a tab, in their order, from a rev on.
local function entries(prefix, first, limit)
  return redis.call(
    'ZRANGEBYLEX', REACTIONS, '[' .. prefix .. placed(first), '(' .. prefix:sub(1, -2) .. '\n',
    'LIMIT', 0, limit)
end

-- The keys with which a user reacts to a message, oldest first; behind each its entry.
local function keysOf(slot, user)
  local found = {}
  local prefix = ofUser(slot, user)
  for _, entry in ipairs(entries(prefix, 0, 100)) do
    found[#found + 1] = entry:sub(#prefix + 1):match('^%d+\t%d+\t(.*)$')
    found[#found + 1] = entry:sub(#prefix + 1)
  end
  return found
end

-- What a message shows of its reactions, the rev of its content, and its content.
local function parts(value)
  local content = value:match('^%d+\t%d+\t%d*\t%d\t[^\t]*\t[^\t]*\t(.*)$') or ''
  local shown, rev, rest = content:match('^(%[[^\t]*)\t(%d+)\t(.*)$')
  if shown then return shown, rev, rest end
  return nil, nil, content
end
