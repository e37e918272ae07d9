-- Who reacts to messages, for scripts that read or write it. No key of a reaction has a tab, and a
-- tab is right below a line feed.
local function ofKey(slot, key) return placed(slot) .. 'k' .. key .. '\t' end
local function ofUser(slot, user) return placed(slot) .. 'u' .. #user .. ':' .. user .. '\t' end
local function ofAll(slot) return placed(slot) .. 'r\t' end

-- The three entries of a reaction, by its key, its user and its rev.
local function entriesOf(slot, user, key, rev, time)
  local began = rev .. '\t' .. time .. '\t'
  return {
    ofKey(slot, key) .. began .. user, ofUser(slot, user) .. began .. key,
    ofAll(slot) .. began .. key .. '\t' .. user,
  }
end

-- What stands behind a text that ends with a tab, in the order of revs, from a rev on: rev, time,
-- and the rest.
local function behind(prefix, first, limit)
  local found = redis.call(
    'ZRANGEBYLEX', REACTIONS, '[' .. prefix .. placed(first), '(' .. prefix:sub(1, -2) .. '\n',
    'LIMIT', 0, limit)
  for at, entry in ipairs(found) do
    found[at] = {entry:sub(#prefix + 1):match('^(%d+)\t(%d+)\t(.*)$')}
  end
  return found
end

-- A user's reactions to a message, oldest first.
local function ownOf(slot, user)
  local found = behind(ofUser(slot, user), 0, 100)
  for at, parts in ipairs(found) do
    found[at] = {rev = parts[1], time = parts[2], key = parts[3]}
  end
  return found
end

-- What a message shows of its reactions, the rev of its content, its content, and to whom it is
-- addressed.
local function parts(value)
  local content = value:match('^%d+\t%d+\t%d*\t%d\t[^\t]*\t[^\t]*\t(.*)$') or ''
  local address, behind = content:match('^(@[^\t]*)\t(.*)$')
  content = behind or content
  local shown, rev, rest = content:match('^(%[[^\t]*)\t(%d+)\t(.*)$')
  if shown then return shown, rev, rest, address end
  return nil, nil, content, address
end
