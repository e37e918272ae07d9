/// The scripts that read, each at one moment of one log.
extension RedisScript {
    /// The view for an edit or a deletion. Arguments: caller (may be empty), id.
    static let lookBody = """
        local log = open()
        if not log then return {'absent'} end
        local member = ARGV[1] ~= '' and redis.call('HGET', MEMBERS, ARGV[1])
        local known = redis.call('HGET', IDS, ARGV[2])
        local slot = known and known:match('^%d+')
        local value = slot and redis.call('HGET', MESSAGES, slot)
        return {'done', head(log), log.record, member, slot and tonumber(slot) or 0, value or false}
        """

    /// Arguments: viewer (may be empty); `1` to show a log whose members are damaged without any,
    /// which the reply then says; `1` to show, of more members than a reply lists, only the admins,
    /// the viewer and the users named behind.
    static let viewBody = """
        local log = open()
        if not log then return {'absent'} end
        local part = fault(log)
        if part and (part ~= MEMBERS or ARGV[2] ~= '1') then return {'damaged', part} end
        local named = ARGV[3] == '1' and {} or nil
        for at = 4, #ARGV do named[at - 3] = ARGV[at] end
        local shown = show(log, ARGV[1], named)
        if part then shown[5], shown[8] = {}, 1 end
        return shown
        """

    /// Scans for keys with a time to live. Arguments: cursor, pattern. Replies with the next
    /// cursor, and one such key, if there is any.
    static let expiringBody = """
        local found = redis.call('SCAN', ARGV[1], 'MATCH', ARGV[2], 'COUNT', 1000)
        for _, key in ipairs(found[2]) do
          if redis.call('PTTL', key) >= 0 then return {'done', found[1], key} end
        end
        return {'done', found[1]}
        """

    static let headBody = """
        local log = open()
        if not log then return {'absent'} end
        return {'done', head(log)}
        """

    /// The members that one step of a walk reads, some 0.3 ms of a server's work.
    static let memberStep = 500

    /// Arguments: what to read of the members, then the version of the member list that the gateway
    /// knows and, for `page`, the users whose rows it asks for. If that version is another, or for
    /// a cursor of `HSCAN`, replies with one step of a walk through all members: the version, the
    /// rev of slot 0 and the number of rows, all three the same in each step of an undisturbed
    /// walk, and the next cursor, 0 after the last step. `all` is a walk of one step.
    static let peopleBody = """
        local log = open()
        if not log then return {'absent'} end
        local cursor, places = ARGV[1], redis.call('HGET', META, 'places') or ''
        local size = redis.call('HLEN', MEMBERS)
        local version = table.concat({log.epoch, places, size}, ' ')
        local members, reads = {}, {}
        if cursor == 'page' then
          if ARGV[2] == version then
            for at = 3, #ARGV do
              local user = ARGV[at]
              members[#members + 1] = user
              members[#members + 1] = redis.call('HGET', MEMBERS, user) or ''
              reads[#reads + 1] = user
              reads[#reads + 1] = redis.call('HGET', READS, user) or '0'
            end
            return {'page', members, reads}
          end
          cursor = '0'
        end
        if cursor == 'all' then
          members, cursor, reads = redis.call('HGETALL', MEMBERS), '0', redis.call('HGETALL', READS)
        else
          local found = redis.call('HSCAN', MEMBERS, cursor, 'COUNT', \(memberStep))
          cursor, members = found[1], found[2]
          -- Where members are few, a step has all of them, however many are asked for.
          for low = 1, #members, 2000 do
            local users = {}
            for at = low, math.min(low + 1998, #members), 2 do users[#users + 1] = members[at] end
            for at, place in ipairs(redis.call('HMGET', READS, unpack(users))) do
              if place then reads[#reads + 1], reads[#reads + 2] = users[at], place end
            end
          end
        end
        return {'step', members, reads, version, int(log.record), size, cursor}
        """

    /// Arguments: id.
    static let messageBody = """
        if not open() then return {'absent'} end
        local known = redis.call('HGET', IDS, ARGV[1])
        if not known then return {'missing', 'id'} end
        local slot = known:match('^%d+')
        return {'done', {tonumber(slot), redis.call('HGET', MESSAGES, slot)}}
        """

    /// Arguments: bytes, limit, since, whether there is a mark, mark, a rev (may be empty) above
    /// which the record is added too. Replies with the slots that changed after `since`, smallest
    /// rev first, the record as a view; the next `since`.
    static let changesBody = """
        local bytes, limit, since = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
        local log = open()
        if not log then return {'absent'} end
        local isKnown = since <= log.rev
        if ARGV[4] == '1' then isKnown = has(log, since, ARGV[5]) end
        if not isKnown then return {'conflict'} end
        local slots = redis.call(
          'ZRANGEBYSCORE', CHANGES, '(' .. int(since), '+inf', 'WITHSCORES', 'LIMIT', 0, limit + 1)
        local messages, record, taken, more, upTo = {}, {}, 0, false, since
        for at = 1, #slots, 2 do
          if at > 2 * limit or taken > bytes then
            more = true
            break
          end
          upTo = tonumber(slots[at + 1])
          if slots[at] == '0' then
            record = show(log, '')
          else
            local value = redis.call('HGET', MESSAGES, slots[at])
            if not value then return {'damaged', MESSAGES} end
            taken = taken + #value
            messages[#messages + 1] = {tonumber(slots[at]), value}
          end
        end
        if not more then upTo = log.rev end
        local above = tonumber(ARGV[6])
        if above and tonumber(redis.call('ZSCORE', CHANGES, '0') or 0) > above then
          record = show(log, '')
        end
        return {'done', head(log), messages, record, upTo, more and 1 or 0}
        """

    /// Arguments: bytes, limit, order, then for `before`, `after` and `around` the kind of anchor
    /// (empty: none) and the anchor. Replies with the messages newest first.
    static let pageBody = """
        local bytes, limit, order = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]
        local log = open()
        if not log then return {'absent'} end

        -- The places right below and right above which a page continues; for a message both are
        -- its own. Messages are in the order of their moments, so halving finds one.
        local function place(kind, anchor)
          if kind == 'seq' then return tonumber(anchor), tonumber(anchor) end
          if kind == 'id' then
            local known = redis.call('HGET', IDS, anchor)
            local seq = known and tonumber(known:match('^%d+'))
            return seq, seq
          end
          local moment, low, high = tonumber(anchor), log.floor - 1, log.seq + 1
          while low + 1 < high do
            local middle = math.floor((low + high) / 2)
            local value = redis.call('HGET', MESSAGES, int(middle)) or ''
            local created = tonumber(value:match('^%d+\\t(%d+)'))
            if created and created < moment then low = middle else high = middle end
          end
          return high - 1, high
        end

        local function walk(from, to, step, most)
          local found, taken = {}, 0
          while #found < limit and taken <= most and (to - from) * step >= 0 do
            local value = redis.call('HGET', MESSAGES, int(from))
            if value then
              found[#found + 1] = {from, value}
              taken = taken + #value
            end
            from = from + step
          end
          return found, taken
        end
        local function below(upper, lower, most)
          return walk(
            math.min(upper - 1, log.seq), math.max(lower + 1, log.floor), -1, most or bytes)
        end
        local function above(lower, upper, most)
          return walk(
            math.max(lower + 1, log.floor), math.min(upper - 1, log.seq), 1, most or bytes)
        end
        local function reversed(list)
          local result = {}
          for at = #list, 1, -1 do result[#result + 1] = list[at] end
          return result
        end

        local lower, upper = {}, {}
        for at, name in ipairs({'before', 'after', 'around'}) do
          local kind, anchor = ARGV[2 + at * 2], ARGV[3 + at * 2]
          if kind ~= '' and name == 'around' and (lower.before or lower.after) then
            return {'crossed'}
          end
          if kind ~= '' then
            lower[name], upper[name] = place(kind, anchor)
            if not lower[name] then return {'missing', name} end
          end
        end
        local page, older, newer
        if upper.around then
          local value = lower.around == upper.around
            and redis.call('HGET', MESSAGES, int(lower.around))
          -- The newer side may take half of the bytes, the older side all that is left.
          local room = bytes - (value and #value or 0)
          local found, taken = above(lower.around, math.huge, room / 2)
          page = reversed(found)
          if value then page[#page + 1] = {lower.around, value} end
          for _, message in ipairs((below(upper.around, 0, room - taken))) do
            page[#page + 1] = message
          end
          older, newer = upper.around, lower.around
        elseif upper.before and (order == 'desc' or not upper.after) then
          page = below(upper.before, lower.after or 0)
          older, newer = upper[upper.after and 'after' or 'before'], lower.before
        elseif upper.after then
          page = reversed(above(lower.after, upper.before or math.huge))
          older, newer = upper.after, lower[upper.before and 'before' or 'after']
        else
          page = below(math.huge, 0)
          older, newer = 0, math.huge
        end
        if #page > 0 then older, newer = page[#page][1], page[1][1] end
        local moreBefore = math.min(older - 1, log.seq) >= log.floor
        local moreAfter = math.max(newer + 1, log.floor) <= log.seq
        return {'done', head(log), page, moreBefore and 1 or 0, moreAfter and 1 or 0}
        """
}
