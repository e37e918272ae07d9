/// The scripts of a user's list of conversations.
///
/// The list is a sorted set in a slot of its own, shared with earlier versions: every conversation
/// in which the user takes part, and perhaps some more, scored by the time at which it was entered,
/// on the server's clock. The conversation decides whether the user takes part. An entry with a tab
/// before its name is the list's tag; its score counts the other entries.
///
/// The log of departures (what left the list) is three keys in one slot: `meta` (`seq` the newest
/// place, `base` the first with a mark, `gone` the number kept, `list` the tag of the list, `print`
/// of the list as it was read last), `marks` (8 random bytes for each place from `base` on; those
/// of place 0 are of the log itself) and `gone` (the conversation, a tab and what identifies the
/// departure, by place). A log that was lost, or whose keys contradict each other, starts again
/// under new marks.
///
/// Joins have places, too, without being written there by those who join, who may be of an earlier
/// version: a reading that finds other entries than the reading before takes a place for them. So a
/// log that still has the place and the mark of a reading was not put back to before its entries.
extension RedisScript {
    /// The scores of tags begin here, above every time.
    static let tagMoment = 1 << 52

    static let tagging = """
        local LIST, ABOVE = KEYS[1], \(tagMoment)
        local function int(n) return string.format('%.0f', n) end
        local function now()
          local time = redis.call('TIME')
          return time[1] * 1000 + math.floor(time[2] / 1000)
        end
        local function tagged()
          local found = redis.call('ZRANGE', LIST, -1, -1, 'WITHSCORES')
          if found[1] and found[1]:byte() == 9 then return found[1], found[2] - ABOVE end
        end
        local function tag(name, count) redis.call('ZADD', LIST, int(ABOVE + count), name) end

        """

    /// Puts a conversation in a list, with a later time than before. Key: the list. Arguments:
    /// conversation, the tag for a new list. Replies with the tag, and whether it is new.
    static let enterBody = """
        local name, count = tagged()
        local isNew, moment = not name, now()
        local before = redis.call('ZSCORE', LIST, ARGV[1])
        moment = math.max(moment, (tonumber(before) or 0) + 1)
        redis.call('ZADD', LIST, int(moment), ARGV[1])
        local own = redis.call('ZCARD', LIST) - (isNew and 0 or 1)
        if isNew then
          name, count = '\\t' .. ARGV[2], own
        elseif not before then
          count = count + 1
        end
        tag(name, math.max(count, own))
        return {'done', name:sub(2), isNew and 1 or 0}
        """

    /// Removes an entry that is still the one seen, and not of this millisecond: who joins again
    /// must get another time. Key: the list. Arguments: conversation, the time in the entry.
    static let forgetBody = """
        local name, count = tagged()
        if redis.call('ZSCORE', LIST, ARGV[1]) == ARGV[2] and int(now()) ~= ARGV[2] then
          redis.call('ZREM', LIST, ARGV[1])
          if name then tag(name, count - 1) end
        end
        return {'done'}
        """

    /// Gives a list of an earlier version a tag, and counts entries that such a version added. Key:
    /// the list. Argument: the tag for a list without one. Replies with the tag.
    static let adoptBody = """
        local name, count = tagged()
        local own = redis.call('ZCARD', LIST) - (name and 1 or 0)
        if not name then name, count = '\\t' .. ARGV[1], -1 end
        if own > count then tag(name, own) end
        return {'done', name:sub(2)}
        """

    /// Notes the tag of a user's list, unless one is noted. Keys: the log of departures. Argument:
    /// the tag. Replies with the noted one.
    static let vouchBody = """
        local META = KEYS[1]
        local kind = redis.call('TYPE', META).ok
        if kind ~= 'hash' and kind ~= 'none' then redis.call('UNLINK', META) end
        redis.call('HSETNX', META, 'list', ARGV[1])
        return {'done', redis.call('HGET', META, 'list')}
        """

    /// Rebuilds a list, in steps; until the last one it counts as damaged. Key: the list.
    /// Arguments: the step, the noted tag, for `put` conversations.
    ///
    /// - `begin` removes the entries of another user's list, except those of the last minute, which
    ///   may be of a call in progress; `clear` also removes a key of another type.
    /// - `put` enters conversations.
    /// - `end` counts them, and replies with the number.
    static let relistBody = """
        local step, own = ARGV[1], '\\t' .. ARGV[2]
        local function drop(low, high)
          repeat
            local found = redis.call('ZRANGEBYSCORE', LIST, low, high, 'LIMIT', 0, 1000)
            if #found > 0 then redis.call('ZREM', LIST, unpack(found)) end
          until #found < 1000
        end
        if step == 'clear' then
          local kind = redis.call('TYPE', LIST).ok
          if kind ~= 'zset' then redis.call('UNLINK', LIST) end
        end
        local name, counted = tagged()
        if step == 'begin' or step == 'clear' then
          if name and name ~= own then
            drop('-inf', int(now() - 60000))
            drop(int(ABOVE), '+inf')
          end
          -- More than there will be, so that it is none before the end.
          local isCut = name ~= own or redis.call('ZCARD', LIST) - 1 < counted
          if isCut then tag(own, 1000000000) end
          return {'done'}
        end
        if name ~= own then return {'stale'} end
        if step == 'put' then
          for at = 3, #ARGV do redis.call('ZADD', LIST, 'NX', int(now()), ARGV[at]) end
          return {'done'}
        end
        local count = redis.call('ZCARD', LIST) - 1
        tag(own, count)
        return {'done', count}
        """

    /// Finds conversations of a server in which users take part. Key: one that lies there.
    /// Arguments: cursor, a pattern for `members` keys, the users. Replies with the next cursor,
    /// and, for each hit, the key of the members and the index of the user.
    static let seekBody = """
        local found = redis.call('SCAN', ARGV[1], 'MATCH', ARGV[2], 'COUNT', 500)
        local seen = {}
        for _, key in ipairs(found[2]) do
          if redis.call('TYPE', key).ok == 'hash' then
            for at, value in ipairs(redis.call('HMGET', key, unpack(ARGV, 3))) do
              if value then seen[#seen + 1], seen[#seen + 2] = key, at end
            end
          end
        end
        return {'done', found[1], seen}
        """

    /// A conversation's entry in a user's list. Argument: user.
    static let listedBody = """
        local log = open()
        if not log then return {'absent'} end
        if redis.call('HEXISTS', MEMBERS, ARGV[1]) == 0 then
          return {'out', log.epoch, int(log.record)}
        end
        return {'done', log.activity, head(log), reading(log, ARGV[1])}
        """

    /// Opens the log of departures, if it is whole.
    static let departures = """
        local META, MARKS, GONE = unpack(KEYS)
        local function open()
          for at, kind in ipairs({'hash', 'string', 'zset'}) do
            local seen = redis.call('TYPE', KEYS[at]).ok
            if seen ~= 'none' and seen ~= kind then return nil end
          end
          local found = redis.call('HMGET', META, 'seq', 'base', 'gone')
          local log = {
            seq = tonumber(found[1]), base = tonumber(found[2]), gone = tonumber(found[3])}
          if not log.seq or not log.base
            or redis.call('STRLEN', MARKS) ~= (log.seq - log.base + 1) * 8
            or redis.call('ZCARD', GONE) ~= log.gone
          then
            return nil
          end
          return log
        end
        local function markAt(log, place)
          return redis.call(
            'GETRANGE', MARKS, (place - log.base) * 8, (place - log.base) * 8 + 7)
        end
        local function int(n) return string.format('%.0f', n) end
        -- Whether all that left since a place is kept.
        local function keeps(log, place)
          if log.gone < 10000 then return true end
          local first = redis.call('ZRANGE', GONE, 0, 0, 'WITHSCORES')
          return place >= first[2] - 1
        end

        """

    /// Arguments: a place and its mark. Replies with the clock, in milliseconds, the newest place
    /// with its mark, whether the given place is of this log and near enough, what left since, the
    /// tag of the list, and the print of what was read of it last; or `fresh`, with whether
    /// something of a log is there, and the tag, if there is no log.
    static let rosterBody = """
        local time = redis.call('TIME')
        local now = time[1] * 1000
        local log = open()
        local isHash = redis.call('TYPE', META).ok == 'hash'
        local tag = isHash and redis.call('HGET', META, 'list') or ''
        if not log then
          local rest = redis.call('EXISTS', MARKS, GONE)
          if isHash then
            rest = rest + redis.call('HEXISTS', META, 'seq')
          else
            rest = rest + redis.call('EXISTS', META)
          end
          return {'fresh', now, rest, tag}
        end
        local place = tonumber(ARGV[1])
        local isKnown = place and place <= log.seq and place >= log.base
          and keeps(log, place) and markAt(log, place) == ARGV[2]
        local gone = {}
        if isKnown then
          gone = redis.call('ZRANGEBYSCORE', GONE, '(' .. int(place), '+inf')
        end
        local print = redis.call('HGET', META, 'print') or ''
        return {'done', now, log.seq, markAt(log, log.seq), isKnown and 1 or 0, gone, tag, print}
        """

    /// Arguments: the mark for a new log, the print of the list (empty if it was not read) and the
    /// mark of a place for it, the place at which the list was read, then a mark and the departure
    /// for each. Departures that are there already are not written again. Replies with how many
    /// others entered since the list was read, the newest place with its mark, and the departures
    /// written.
    static let departBody = """
        local log = open()
        local others = 0
        if not log then
          local tag = redis.call('TYPE', META).ok == 'hash' and redis.call('HGET', META, 'list')
          for _, key in ipairs(KEYS) do redis.call('UNLINK', key) end
          if tag then redis.call('HSET', META, 'list', tag) end
          redis.call('SET', MARKS, ARGV[1])
          redis.call('HSET', META, 'print', ARGV[2])
          log = {seq = 0, base = 0, gone = 0}
        else
          others = redis.call('ZCOUNT', GONE, '(' .. ARGV[4], '+inf')
        end
        local written = {}
        for at = 5, #ARGV, 2 do
          if not redis.call('ZSCORE', GONE, ARGV[at + 1]) then
            log.seq, log.gone = log.seq + 1, log.gone + 1
            redis.call('ZADD', GONE, int(log.seq), ARGV[at + 1])
            redis.call('APPEND', MARKS, ARGV[at])
            written[#written + 1] = ARGV[at + 1]
          end
        end
        if ARGV[2] ~= '' and redis.call('HGET', META, 'print') ~= ARGV[2] then
          log.seq = log.seq + 1
          redis.call('APPEND', MARKS, ARGV[3])
          redis.call('HSET', META, 'print', ARGV[2])
        end
        if log.gone > 10000 then
          redis.call('ZREMRANGEBYRANK', GONE, 0, log.gone - 10001)
          log.gone = 10000
        end
        if log.seq - log.base > 20000 then
          local base = log.seq - 10000
          redis.call(
            'SET', MARKS, redis.call('GETRANGE', MARKS, (base - log.base) * 8, -1))
          log.base = base
        end
        redis.call(
          'HSET', META, 'seq', int(log.seq), 'base', int(log.base), 'gone', int(log.gone))
        return {'done', others, log.seq, markAt(log, log.seq), written}
        """
}
