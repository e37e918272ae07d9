import Ports
import Wire

/// Our scripts, which run inside Redis: each reads one conversation at one moment; what it writes
/// is there completely, with its event, or not at all. The texts are in `RedisScript+Writes`,
/// `+Reads`, `+Lists` and `+Repair`.
///
/// A conversation's log is nine keys in one hash slot:
/// - `meta` (hash): the head without its mark, and slot 0 without the participants. `last` is the
///   seq of the newest message that is not deleted, `activity` the earliest time that a new message
///   may have, `record` the rev of slot 0, `base` the last rev without a mark, `places` how many
///   have joined so far, `rulers` the admins as of a rev of slot 0, so that they need not be
///   searched among all members.
/// - `marks` (string): 8 random bytes for each rev above `base`. A replica has a prefix of it, so
///   two logs that share a mark share everything before.
/// - `messages` (hash): slot → value. Numbering is dense, so a page is the slots of a range; a hash
///   takes less memory than a sorted set, and an edit is in place.
/// - `changes` (sorted set): slots by the rev of their value, 0 for the record, so that "changed
///   since" is one range.
/// - `ids` (hash): id of a message → seq, hash of what was first sent, author.
/// - `members` (hash): the participants. `reads` (hash): user → seq read up to, also for users who
///   left or never took part, whose own messages would otherwise be unread to them; a tab and the
///   user → the newest seq that they wrote, 0 for none.
/// - `deleted` (sorted set): seqs of tombstones, to count unread messages.
/// - `trimmed` (hash): ids of trimmed messages, so that a repeat is no second message: id → seq,
///   rev and time at which it was sent, hash and author as in `ids`; a tab and the seq → id; two
///   tabs and the seq → the rev at which a message was sent that has changed since and is not
///   trimmed. `known` of `meta` is the first seq of these.
///
/// A key can be lost by itself: evicted, deleted, restored from elsewhere. So each key but `marks`
/// holds the `tag` of its log, under a name that no id can have, and `seal` of `meta` says what the
/// keys held after the last write: the rev, its mark, and the number of values in `meta`,
/// `members`, `deleted`, `trimmed` and, at least, `reads`. The sizes of `messages`, `changes`,
/// `ids` and `marks` follow from the head. Every script checks this (`judging`).
enum RedisScript: String, Sendable, Hashable, CaseIterable {
    case append, replace, record, remove, read, forkEpoch
    case look, view, page, changes, message, head, listed, people
    case enter, forget, adopt, vouch, relist, seek, roster, depart
    case claim, disconnect, disconnects, expiring, repair, attempt

    /// What Redis runs.
    var text: String {
        let isAttempt = self == .attempt
        return isWrite || isAttempt
            ? Self.permitted(source, calls: calls, tells: tells || isAttempt) : source
    }

    /// The commands that the script may call, but for the publishing one. An attempt calls none: it
    /// shows whether the server would refuse any write.
    private var calls: Set<String> {
        guard self != .attempt else {
            let writes = Self.allCases.filter(\.isWrite)
            return writes.reduce(into: []) { $0.formUnion($1.calls) }
        }
        return Set(source.matches(of: /redis\.call\(\s*'([A-Z]+)'/).map { String($0.1) })
    }

    /// Redis refuses scripts with `#!lua` before they start while it is out of memory, a replica,
    /// or can't write its file; scripts without it would stop half-way.
    private var source: String {
        switch self {
        case .append: "#!lua\n" + Self.whole + Self.writing + Self.trimming + Self.appendBody
        case .replace: "#!lua\n" + Self.whole + Self.writing + Self.replaceBody
        case .record:
            "#!lua\n" + Self.log + Self.typing + Self.judging + Self.writing + Self.showing
                + Self.recordBody
        case .remove: "#!lua flags=allow-oom\n" + Self.whole + Self.writing + Self.removeBody
        case .read: "#!lua\n" + Self.whole + Self.writing + Self.showing + Self.readBody
        case .forkEpoch: "#!lua flags=allow-oom\n" + Self.whole + Self.forkEpochBody
        case .look: Self.reading(Self.guarding + Self.lookBody)
        case .view: Self.reading(Self.proving + Self.showing + Self.viewBody)
        case .page: Self.reading(Self.guarding + Self.proving + Self.pageBody)
        case .changes:
            Self.reading(Self.guarding + Self.proving + Self.showing + Self.changesBody)
        case .message: Self.reading(Self.guarding + Self.messageBody)
        case .head: Self.reading(Self.guarding + Self.headBody)
        case .listed: Self.reading(Self.guarding + Self.showing + Self.listedBody)
        case .people: Self.reading(Self.guarding + Self.peopleBody)
        case .enter: "#!lua\n" + Self.tagging + Self.enterBody
        case .forget: "#!lua flags=allow-oom\n" + Self.tagging + Self.forgetBody
        case .adopt: "#!lua\n" + Self.tagging + Self.adoptBody
        case .vouch: "#!lua\n" + Self.vouchBody
        case .relist: "#!lua\n" + Self.tagging + Self.relistBody
        case .seek: Self.everywhere + Self.seekBody
        case .roster: Self.readOnly + Self.departures + Self.rosterBody
        case .depart: "#!lua flags=allow-oom\n" + Self.departures + Self.departBody
        case .claim: "#!lua\n" + Self.claimBody
        case .attempt: "#!lua\nreturn {'done'}"
        case .disconnect: "#!lua flags=allow-oom\n" + Self.disconnectBody
        case .disconnects: Self.readOnly + Self.disconnectsBody
        case .expiring: Self.everywhere + Self.expiringBody
        case .repair:
            "#!lua\n" + Self.retyping + Self.log + Self.typing + Self.judging + Self.writing
                + Self.repairBody
        }
    }

    /// Whether the script writes, and so must not be repeated unasked.
    var isWrite: Bool {
        switch self {
        case .append, .replace, .record, .remove, .read, .forkEpoch, .enter, .forget, .adopt,
            .vouch, .relist, .depart, .claim, .disconnect, .repair:
            true
        case .look, .view, .page, .changes, .message, .head, .listed, .people, .seek, .roster,
            .disconnects, .expiring, .attempt:
            false
        }
    }

    /// Whether the script answers only for a log that has a change: its first two arguments are the
    /// rev and the mark, or empty.
    var proves: Bool { self == .view || self == .page || self == .changes }

    /// Whether the script publishes to the feed, and so takes the publishing command and channel.
    var tells: Bool {
        switch self {
        case .append, .replace, .record, .remove, .read, .disconnect: true
        case .forkEpoch, .enter, .forget, .adopt, .vouch, .relist, .seek, .depart, .claim, .repair,
            .look, .view, .page, .changes, .message, .head, .listed, .people, .roster,
            .disconnects, .expiring, .attempt:
            false
        }
    }

    /// Whether an answer that is no refusal shows that the parts of the conversation's log agree.
    func shows(_ answer: RedisScripts.Answer) -> Bool {
        switch self {
        case .append, .replace, .record, .remove, .read, .forkEpoch, .look, .page, .changes,
            .message, .head, .listed, .people:
            true
        // One without its members may be shown, to be mended.
        case .view: answer[7].int != 1
        // Of the steps of a repair, the last one shows it.
        case .repair: answer.word == "whole" || Head(answer[1]) != nil
        case .enter, .forget, .adopt, .vouch, .relist, .seek, .roster, .depart, .claim,
            .disconnect, .disconnects, .expiring, .attempt:
            false
        }
    }

    /// A script whose user lacks a right would stop half-way too: Redis judges each command when it
    /// is called. So one that writes asks about all of its commands before it calls the first.
    private static func permitted(_ source: String, calls: Set<String>, tells: Bool) -> String {
        let head = source.prefix { $0 != "\n" }
        let telling = "not redis.acl_check_cmd(ARGV[1], ARGV[2], '') and ARGV[1]"
        return """
            \(head)
            do
              local missing = \(tells ? telling : "nil")
              for name in ('\(calls.sorted().joined(separator: " "))'):gmatch('%u+') do
                if not redis.acl_check_cmd(name) then missing = name end
              end
              if missing then return redis.error_reply('NOPERM its user may not ' .. missing) end
            end
            \(source.dropFirst(head.count + 1))
            """
    }

    private static let readOnly = "#!lua flags=no-writes,allow-oom\n"

    /// For scripts that read keys of all slots of a server.
    private static let everywhere = "#!lua flags=no-writes,allow-oom,allow-cross-slot-keys\n"

    /// A script that writes first looks at all keys: a command that fails half-way would leave
    /// earlier writes. What `fault` asks of each key fails where that is of another type; only then
    /// the types are asked for, nine commands of some fifty.
    private static let whole =
        log + judging + """
            do
              local isDone, part = pcall(function()
                local log = open()
                return log and fault(log)
              end)
              if not isDone then
                local key = mistyped()
                if not key then error(part) end
                part = key
              end
              if part then return {'damaged', part} end
            end

            """

    /// Checks the types of all keys, for a script that writes whatever `fault` says.
    private static let typing = """
        do
          local key = mistyped()
          if key then return {'damaged', key} end
        end

        """

    /// A script that reads looks at the types only once a command has failed: nine commands fewer,
    /// of some thirty, for each conversation of a list.
    private static func reading(_ body: String) -> String {
        """
        \(readOnly)\(log)
        local function run()
        \(judging)
        \(body)
        end
        local isDone, answer = pcall(run)
        if isDone then return answer end
        local key = mistyped()
        if key then return {'damaged', key} end
        error(answer)
        """
    }

    /// The types of a conversation's keys.
    static let kinds = """
        local kinds = {'hash', 'string', 'hash', 'zset', 'hash', 'hash', 'hash', 'zset', 'hash'}

        """

    private static let log = """
        local redis = redis
        \(kinds)
        local META, MARKS, MESSAGES, CHANGES, IDS, MEMBERS, READS, DELETED, TRIMMED = unpack(KEYS)
        -- The first key of another type. Without its head the log is gone, whatever the rest is.
        local function mistyped()
          for at, kind in ipairs(kinds) do
            local seen = redis.call('TYPE', KEYS[at]).ok
            if at == 1 and seen == 'none' then return nil end
            if seen ~= 'none' and seen ~= kind then return KEYS[at] end
          end
        end

        -- Lua would write a large number with an exponent.
        local function int(n) return string.format('%.0f', n) end

        local fields = {'seq', 'rev', 'floor', 'activity', 'last', 'record', 'base'}
        local opened
        local function open()
          if opened then return opened end
          local found = redis.call('HMGET', META, 'epoch', 'tag', 'seal', unpack(fields))
          if not found[1] then return nil end
          local log = {epoch = found[1], tag = found[2], seal = found[3], isHeadless = false}
          for at, field in ipairs(fields) do
            local value = tonumber(found[at + 3])
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

        """

    /// Checks that the parts of a log agree, in constant time: the size of each key, by head and
    /// seal, and the tag. A log of an earlier version has neither tag nor seal until this version
    /// writes to it; when an earlier version writes again, the seal stays behind and then only
    /// proves where its mark lies.
    private static let judging = """
        local function hex(bytes)
          return ('%02x'):rep(#bytes):format(bytes:byte(1, -1))
        end

        local function counts()
          return redis.call('HLEN', META), redis.call('HLEN', MEMBERS),
            redis.call('ZCARD', DELETED), redis.call('HLEN', TRIMMED), redis.call('HLEN', READS)
        end

        -- The key that is gone, cut, another log's or of another type; nil if all is well. What the
        -- sizes don't show is asked for its type.
        local function fault(log)
          local isOdd = log.isHeadless or not log.tag ~= not log.seal
          if isOdd or log.seq < log.floor - 1 or log.rev < log.base then return META end
          local own = 0
          if log.tag then
            own = 1
            local strays, stray = 0, nil
            for _, key in ipairs({MESSAGES, IDS, MEMBERS, READS, TRIMMED}) do
              if redis.call('HGET', key, '\\t\\ttag') ~= log.tag then
                strays, stray = strays + 1, stray or key
              end
            end
            for _, key in ipairs({CHANGES, DELETED}) do
              if not redis.call('ZSCORE', key, '\\t' .. log.tag) then
                strays, stray = strays + 1, stray or key
              end
            end
            if strays == 7 then return META end
            if stray then return stray end
          end
          local kept = log.seq - log.floor + 1 + own
          if redis.call('STRLEN', MARKS) ~= (log.rev - log.base) * 8 then return MARKS end
          if redis.call('HLEN', MESSAGES) ~= kept then return MESSAGES end
          if redis.call('ZCARD', CHANGES) ~= kept + 1 then return CHANGES end
          if redis.call('HLEN', IDS) ~= kept then return IDS end
          if not log.seal then return mistyped() end
          local rev, mark, meta, members, deleted, trimmed, reads =
            log.seal:match('^(%d+) (%x*) (%d+) (%d+) (%d+) (%d+) (%d+)$')
          rev = tonumber(rev)
          if not rev or rev > log.rev then return META end
          if rev > log.base and hex(markAt(log, rev)) ~= mark then return MARKS end
          if rev < log.rev then return mistyped() end
          local now = {counts()}
          if now[1] ~= tonumber(meta) then return META end
          if now[2] ~= tonumber(members) then return MEMBERS end
          if now[3] ~= tonumber(deleted) then return DELETED end
          if now[4] ~= tonumber(trimmed) then return TRIMMED end
          if now[5] < tonumber(reads) then return READS end
          return nil
        end

        """

    /// A log whose parts don't agree is neither read nor written.
    private static let guarding = """
        do
          local log = open()
          local part = log and fault(log)
          if part then return {'damaged', part} end
        end

        """

    /// A log without the change that its asker has seen, or without the mark of it, may be another
    /// branch, and is not answered.
    private static let proving = """
        do
          local rev, mark = table.remove(ARGV, 1), table.remove(ARGV, 1)
          local log = rev ~= '' and open()
          if log and not has(log, tonumber(rev), mark) then return {'lost'} end
        end

        """

    /// Shared by scripts that write. The server's clock is the clock of all gateways.
    private static let writing = """
        local function now()
          local time = redis.call('TIME')
          return time[1] * 1000 + math.floor(time[2] / 1000)
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

        -- Says which keys belong together, the last in each script that changes what is counted. A
        -- log without a tag gets one.
        local function seal(log)
          local mark = hex(markAt(log, log.rev))
          if not log.tag then
            log.tag = mark ~= '' and mark or log.epoch
            redis.call('HSET', META, 'tag', log.tag, 'seal', '')
            for _, key in ipairs({MESSAGES, IDS, MEMBERS, READS, TRIMMED}) do
              redis.call('HSET', key, '\\t\\ttag', log.tag)
            end
            for _, key in ipairs({CHANGES, DELETED}) do
              redis.call('ZADD', key, -1, '\\t' .. log.tag)
            end
          end
          local sealed = {int(log.rev), mark}
          for _, count in ipairs({counts()}) do sealed[#sealed + 1] = int(count) end
          redis.call('HSET', META, 'seal', table.concat(sealed, ' '))
        end

        -- Parts with their lengths, as the gateways read them from the feed. They are joined at
        -- once, when all are there: Redis's Lua hashes each byte of each string that it makes.
        local function addParts(event, ...)
          for _, part in ipairs({...}) do
            if type(part) == 'number' then part = int(part) end
            local last = #event
            event[last + 1], event[last + 2], event[last + 3] = #part, ':', part
          end
          return event
        end

        local function publish(event, rest, after)
          local trailer = after and '~' .. after or ''
          redis.call(ARGV[1], ARGV[2], table.concat(event) .. (rest or '') .. trailer)
        end

        -- The mark before the next change, for its event: it proves to a follower that the change
        -- continues the log that it knows.
        local function newest(log)
          if log.rev == 0 then return '' end
          return log.rev > log.base and markAt(log, log.rev) or nil
        end

        """

    /// Builds the parts of a reply about a conversation.
    private static let showing = """
        local function reading(log, user)
          local place = tonumber(redis.call('HGET', READS, user)) or 0
          local start = math.max(place, log.floor - 1)
          local gone = redis.call('ZCOUNT', DELETED, '(' .. int(start), '+inf')
          return {place, math.max(0, log.seq - start) - gone}
        end

        -- Who takes part: all, or, of more than a reply lists, the admins and who is named. An
        -- earlier version does not write down who is admin; then all are looked at.
        local function people(log, named)
          local count = redis.call('HLEN', MEMBERS) - (log.tag and 1 or 0)
          local found = named and count > 100 and redis.call('HGET', META, 'rulers') or ''
          local rev, rulers = found:match('^(%d+)\\t(.*)$')
          if tonumber(rev) ~= log.record then return redis.call('HGETALL', MEMBERS), -1 end
          local shown, seen, at = {}, {}, 1
          local function add(user)
            local value = not seen[user] and redis.call('HGET', MEMBERS, user)
            seen[user] = true
            if value then shown[#shown + 1], shown[#shown + 2] = user, value end
          end
          while at <= #rulers do
            local _, last, size = rulers:find('^(%d+):', at)
            if not last then return redis.call('HGETALL', MEMBERS), -1 end
            add(rulers:sub(last + 1, last + size))
            at = last + size + 1
          end
          for _, user in ipairs(named) do add(user) end
          return shown, count
        end

        local function show(log, user, named)
          local last, reader = {}, {}
          if log.last > 0 then
            last = {log.last, redis.call('HGET', MESSAGES, int(log.last))}
          end
          if user ~= '' and redis.call('HEXISTS', MEMBERS, user) == 1 then
            reader = reading(log, user)
            if named then named[#named + 1] = user end
          end
          local members, count = people(log, named)
          local found = redis.call(
            'HMGET', META, 'title', 'metadata', 'unknown', 'createdAt', 'updatedAt', 'distinct',
            'createdBy')
          return {'done', head(log), log.record, found, members, last, reader, 0, count}
        end

        """
}
