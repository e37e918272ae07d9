/// The scripts of a user's list of conversations.
///
/// The list itself is a sorted set in a slot of its own, shared with earlier versions: every
/// conversation in which the user takes part, and perhaps some more, with the moment at which it
/// was put there by the clock of the server. Whether the user takes part, the conversation says.
///
/// What left the list lies in a log of departures, three keys in one slot: `meta` (`seq` the
/// newest place, `base` the first that has a mark, `gone` how many are kept), `marks` (8 random
/// bytes for each place from `base` on; those of place 0 are of the log itself) and `gone` (the
/// conversation, a tab and what made it one departure and no other, by place). A log whose keys
/// contradict each other, or that was lost, begins anew under marks of its own.
extension RedisScript {
    /// Puts a conversation in a list, with another moment than before. Key: the list. Argument:
    /// conversation.
    static let enterBody = """
        local time = redis.call('TIME')
        local moment = time[1] * 1000 + math.floor(time[2] / 1000)
        local before = tonumber(redis.call('ZSCORE', KEYS[1], ARGV[1]) or 0)
        if moment <= before then moment = before + 1 end
        redis.call('ZADD', KEYS[1], string.format('%.0f', moment), ARGV[1])
        return {'done'}
        """

    /// Takes a conversation off a user's list, unless the entry is not the one that was seen. Key:
    /// the list. Arguments: conversation, the moment in the entry.
    static let forgetBody = """
        if redis.call('ZSCORE', KEYS[1], ARGV[1]) == ARGV[2] then
          redis.call('ZREM', KEYS[1], ARGV[1])
        end
        return {'done'}
        """

    /// Where a conversation stands in a user's list. Arguments: user.
    static let listedBody = """
        local log = open()
        if not log then return {'absent'} end
        if redis.call('HEXISTS', MEMBERS, ARGV[1]) == 0 then
          return {'out', log.epoch, int(log.record)}
        end
        return {'done', log.activity, head(log), reading(log, ARGV[1])}
        """

    /// The log of departures, if it is whole.
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

        """

    /// Arguments: place and mark that somebody knows. Answers with the clock, in milliseconds, the
    /// newest place with its mark, whether what is known is of this log and near enough, and who
    /// left since; or `fresh`, with how many keys there are, if there is no log.
    static let rosterBody = """
        local time = redis.call('TIME')
        local now = time[1] * 1000
        local log = open()
        if not log then return {'fresh', now, redis.call('EXISTS', unpack(KEYS))} end
        local place = tonumber(ARGV[1])
        local isKnown = place and place <= log.seq and place >= log.base
          and log.seq - place <= 10000 and markAt(log, place) == ARGV[2]
        local gone = {}
        if isKnown then
          gone = redis.call('ZRANGEBYSCORE', GONE, '(' .. int(place), '+inf')
        end
        return {'done', now, log.seq, markAt(log, log.seq), isKnown and 1 or 0, gone}
        """

    /// Arguments: the mark of a log that begins, then for each departure a mark and the departure.
    /// One that is there already is not written again. Answers with the newest place before, the
    /// newest one with its mark, and those that were written.
    static let departBody = """
        local log = open()
        if not log then
          for _, key in ipairs(KEYS) do redis.call('UNLINK', key) end
          redis.call('SET', MARKS, ARGV[1])
          log = {seq = 0, base = 0, gone = 0}
        end
        local before, written = log.seq, {}
        for at = 2, #ARGV, 2 do
          if not redis.call('ZSCORE', GONE, ARGV[at + 1]) then
            log.seq, log.gone = log.seq + 1, log.gone + 1
            redis.call('ZADD', GONE, int(log.seq), ARGV[at + 1])
            redis.call('APPEND', MARKS, ARGV[at])
            written[#written + 1] = ARGV[at + 1]
          end
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
        return {'done', before, log.seq, markAt(log, log.seq), written}
        """
}
