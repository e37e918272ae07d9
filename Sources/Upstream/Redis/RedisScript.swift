/// Our scripts, which run inside Redis: each is one moment of one conversation. What a script
/// reads, it reads of the log that it names; what it writes is there as a whole, with its event, or
/// not at all. The texts are in `RedisScript+Writes` and `RedisScript+Reads`.
///
/// How the nine keys of a conversation, all in one hash slot, stand for its log:
/// - `meta` (hash): the head without its mark, and slot 0 without its participants. `last` is the
///   place of the newest message that is not deleted, `activity` the earliest moment that a new
///   message may have, `record` the rev of slot 0, `base` the last rev that has no mark any more,
///   `places` how many have joined so far.
/// - `marks` (string): 8 random bytes for each rev above `base`. A replica has a prefix of it, so
///   two logs that share a mark share everything before.
/// - `messages` (hash): slot → value. Numbering is dense, so a page is the slots of a range; and a
///   hash takes less memory than a sorted set, and an edit in place.
/// - `changes` (sorted set): slot by the rev of its value, 0 for the record, so that "what changed
///   since" is one range.
/// - `ids` (hash): id of a message → place, hash of what was first sent, author.
/// - `members` (hash): who takes part. `reads` (hash): user → place read up to, also of those who
///   left or never took part, whose own messages would otherwise be unread to them; behind a tab,
///   user → the newest place that they wrote, 0 for none.
/// - `deleted` (sorted set): places of tombstones, to count what is unread.
/// - `trimmed` (hash): ids of messages that are gone, so that one that is sent again is no second
///   message: id → place, rev and moment at which it was sent, hash and author as in `ids`; behind
///   a tab, place → id; and behind two, place → the rev at which a message that has changed since,
///   and is not gone, was sent. `known` of `meta` is the first place of these.
enum RedisScript: String, Sendable, Hashable, CaseIterable {
    case append, replace, record, remove, read, disown
    case look, view, page, changes, message, head, listed, people
    case enter, forget, roster, depart, claim, disconnect, disconnects, expiring

    /// Scripts that begin with `#!lua` are refused as a whole while the server is out of memory, a
    /// replica, or can't write its file; those without would stop half-way.
    var text: String {
        switch self {
        case .append: "#!lua\n" + Self.log + Self.writing + Self.trimming + Self.appendBody
        case .replace: "#!lua\n" + Self.log + Self.writing + Self.replaceBody
        case .record: "#!lua\n" + Self.log + Self.writing + Self.showing + Self.recordBody
        case .remove: "#!lua flags=allow-oom\n" + Self.log + Self.writing + Self.removeBody
        case .read: "#!lua\n" + Self.log + Self.writing + Self.showing + Self.readBody
        case .disown: "#!lua flags=allow-oom\n" + Self.log + Self.disownBody
        case .look: Self.reading + Self.log + Self.lookBody
        case .view: Self.reading + Self.log + Self.showing + Self.viewBody
        case .page: Self.reading + Self.log + Self.pageBody
        case .changes: Self.reading + Self.log + Self.showing + Self.changesBody
        case .message: Self.reading + Self.log + Self.messageBody
        case .head: Self.reading + Self.log + Self.headBody
        case .listed: Self.reading + Self.log + Self.showing + Self.listedBody
        case .people: Self.reading + Self.log + Self.peopleBody
        case .enter: "#!lua\n" + Self.enterBody
        case .forget: "#!lua flags=allow-oom\n" + Self.forgetBody
        case .roster: Self.reading + Self.departures + Self.rosterBody
        case .depart: "#!lua flags=allow-oom\n" + Self.departures + Self.departBody
        case .claim: "#!lua\n" + Self.claimBody
        case .disconnect: "#!lua flags=allow-oom\n" + Self.disconnectBody
        case .disconnects: Self.reading + Self.disconnectsBody
        case .expiring: Self.expiringBody
        }
    }

    /// What a script must not be run twice without being asked to.
    var isWrite: Bool {
        switch self {
        case .append, .replace, .record, .remove, .read, .disown, .enter, .forget, .depart,
            .claim, .disconnect:
            true
        case .look, .view, .page, .changes, .message, .head, .listed, .people, .roster,
            .disconnects, .expiring:
            false
        }
    }

    /// Whether it tells the feed, and so is told how.
    var tells: Bool {
        switch self {
        case .append, .replace, .record, .remove, .read, .disconnect: true
        default: false
        }
    }

    private static let reading = "#!lua flags=no-writes,allow-oom\n"

    /// Every script of a conversation begins by looking at the types of all keys: an error of a
    /// command half-way would leave what was written before it.
    private static let log = """
        local META, MARKS, MESSAGES, CHANGES, IDS, MEMBERS, READS, DELETED, TRIMMED = unpack(KEYS)
        local kinds = {'hash', 'string', 'hash', 'zset', 'hash', 'hash', 'hash', 'zset', 'hash'}
        for at, kind in ipairs(kinds) do
          local seen = redis.call('TYPE', KEYS[at]).ok
          if seen ~= 'none' and seen ~= kind then return {'type', KEYS[at]} end
        end

        -- Lua would write a large number with an exponent.
        local function int(n) return string.format('%.0f', n) end

        local fields = {'seq', 'rev', 'floor', 'activity', 'last', 'record', 'base'}
        local function open()
          local found = redis.call('HMGET', META, 'epoch', unpack(fields))
          if not found[1] then return nil end
          local log = {epoch = found[1]}
          for at, field in ipairs(fields) do log[field] = tonumber(found[at + 1]) or 0 end
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

        """

    /// What writes a log: one clock for all gateways, the server's.
    private static let writing = """
        local function now()
          local time = redis.call('TIME')
          return time[1] * 1000 + math.floor(time[2] / 1000)
        end

        -- A log whose marks were cut or lost can't be continued: nobody could tell it from another.
        local function isWhole(log)
          return redis.call('STRLEN', MARKS) == (log.rev - log.base) * 8
        end

        local function advance(log, slot, mark)
          log.rev = log.rev + 1
          redis.call('APPEND', MARKS, mark)
          redis.call('ZADD', CHANGES, int(log.rev), slot)
        end

        local function save(log)
          local values = {'epoch', log.epoch}
          for _, field in ipairs(fields) do
            values[#values + 1] = field
            values[#values + 1] = int(log[field])
          end
          redis.call('HSET', META, unpack(values))
        end

        -- Parts with their lengths, as the gateways read them from the feed.
        local function pack(...)
          local packed = {}
          for at, part in ipairs({...}) do
            if type(part) == 'number' then part = int(part) end
            packed[at] = #part .. ':' .. part
          end
          return table.concat(packed)
        end

        local function publish(event) redis.call(ARGV[1], ARGV[2], event) end

        """

    /// What a reply about a conversation is made of.
    private static let showing = """
        local function reading(log, user)
          local place = tonumber(redis.call('HGET', READS, user)) or 0
          local start = math.max(place, log.floor - 1)
          local gone = redis.call('ZCOUNT', DELETED, '(' .. int(start), '+inf')
          return {place, math.max(0, log.seq - start) - gone}
        end

        local function show(log, user)
          local last, reader = {}, {}
          if log.last > 0 then
            last = {log.last, redis.call('HGET', MESSAGES, int(log.last))}
          end
          if user ~= '' and redis.call('HEXISTS', MEMBERS, user) == 1 then
            reader = reading(log, user)
          end
          local found = redis.call(
            'HMGET', META, 'title', 'metadata', 'unknown', 'createdAt', 'updatedAt', 'distinct',
            'createdBy')
          return {
            'done', head(log), log.record, found, redis.call('HGETALL', MEMBERS), last, reader}
        end

        """
}
