-- A conversation's log is ten keys in one hash slot:
-- - `meta` (hash): the head without its mark, and slot 0 without the participants. `last` is the
--   seq of the newest message that is not deleted, `activity` the earliest time that a new message
--   may have, `record` the rev of slot 0, `base` the last rev without a mark, `places` how many
--   have joined so far, `rulers` the admins as of a rev of slot 0, so that they need not be
--   searched among all members.
-- - `marks` (string): 8 random bytes for each rev above `base`. A replica has a prefix of it, so
--   two logs that share a mark share everything before.
-- - `messages` (hash): slot → value. Numbering is dense, so a page is the slots of a range; a hash
--   takes less memory than a sorted set, and an edit is in place.
-- - `changes` (sorted set): slots by the rev of their value, 0 for the record, so that "changed
--   since" is one range.
-- - `ids` (hash): id of a message → seq, hash of what was first sent, author.
-- - `members` (hash): the participants. `reads` (hash): user → seq read up to, also for users who
--   left or never took part, whose own messages would otherwise be unread to them; a tab and the
--   user → the newest seq that they wrote, 0 for none.
-- - `deleted` (sorted set): seqs of tombstones, to count unread messages.
-- - `trimmed` (hash): ids of trimmed messages, so that a repeat is no second message: id → seq,
--   rev and time at which it was sent, hash and author as in `ids`; a tab and the seq → id; two
--   tabs and the seq → the rev at which a message was sent that has changed since and is not
--   trimmed. `known` of `meta` is the first seq of these.
-- - `reactions` (sorted set, all of one score): three entries for each reaction to a message, by
--   its slot with 16 digits: `k`, key, rev and time (ms) at which it began, user, with tabs between
--   them; `u`, the user with a length before, rev, time, key; `r`, rev, time, key, user. So each
--   list is one range. `reactions` of `meta` counts the reactions. What a message shows of them
--   stands before its content. Only scripts that include `reacting` take this key: while a slot
--   moves, a node of a cluster can't tell where a key is that is not there.
-- - `mentions` (sorted set, all of one score): where messages that are not deleted mention
--   somebody: a name, a tab and the slot with 16 digits. Names are `u`, the user with a length
--   before, for each who is mentioned but the author; or `a` for a message that mentions
--   everybody, and beside it `o` with its author. So each count is one range. `mentions` of `meta`
--   counts the entries. Whom a message mentions stands before its content (`addressing`). No
--   script is given this key: its name follows from that of `meta`, and it is looked at only where
--   entries are counted.
--
-- A key can be lost by itself: evicted, deleted, restored from elsewhere. So each key but `marks`
-- holds the `tag` of its log, under a name that no id can have, and `seal` of `meta` says what the
-- keys held after the last write: the rev, its mark, and the number of values in `meta`,
-- `members`, `deleted`, `trimmed` and, at least, `reads`. The sizes of `messages`, `changes`,
-- `ids` and `marks` follow from the head. Every script checks this (`judging`).
-- include kinds
local META, MARKS, MESSAGES, CHANGES, IDS, MEMBERS, READS, DELETED, TRIMMED, REACTIONS =
  unpack(KEYS)
local MENTIONS = META:sub(1, -5) .. 'mentions'
local opened
-- The first key of another type. Without its head the log is gone, whatever the rest is.
local function mistyped()
  for at, kind in ipairs(kinds) do
    if not KEYS[at] then break end
    local seen = redis.call('TYPE', KEYS[at]).ok
    if at == 1 and seen == 'none' then return nil end
    if seen ~= 'none' and seen ~= kind then return KEYS[at] end
  end
  if opened and opened.mentions > 0 and redis.call('TYPE', MENTIONS).ok ~= 'zset' then
    return MENTIONS
  end
end

-- Lua would write a large number with an exponent.
local function int(n) return string.format('%.0f', n) end

-- A slot as text that is in the order of slots.
local function placed(slot) return string.format('%016.0f', slot) end

local fields = {'seq', 'rev', 'floor', 'activity', 'last', 'record', 'base'}
local function open()
  if opened then return opened end
  local found = redis.call(
    'HMGET', META, 'epoch', 'tag', 'seal', 'reactions', 'mentions', unpack(fields))
  if not found[1] then return nil end
  local log = {epoch = found[1], tag = found[2], seal = found[3], isHeadless = false}
  log.reactions, log.mentions = tonumber(found[4]) or 0, tonumber(found[5]) or 0
  for at, field in ipairs(fields) do
    local value = tonumber(found[at + 5])
    log[field], log.isHeadless = value or 0, log.isHeadless or not value
  end
  opened = log
  return log
end

local function markAt(log, rev)
  return redis.call('GETRANGE', MARKS, (rev - log.base - 1) * 8, (rev - log.base) * 8 - 1)
end

local function has(log, rev, mark)
  if rev == 0 then return mark == '' end
  return rev > log.base and rev <= log.rev and markAt(log, rev) == mark
end

local function head(log)
  return {log.epoch, log.seq, log.rev, markAt(log, log.rev), log.floor}
end
