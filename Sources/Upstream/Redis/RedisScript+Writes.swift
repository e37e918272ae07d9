/// The scripts that write. Those that publish take the publishing command and the channel as their
/// first two arguments. The reply `stale` means that the view that was decided on no longer holds.
extension RedisScript {
    /// Arguments: caller (empty: the server API), the messages to retain, how long ids of trimmed
    /// ones stay (ms), then for each message its id, whether the author gave it, author, hash, mark
    /// and content. All is decided before the first one is written.
    static let appendBody = """
        local caller, retain, span, size = ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5]), 6
        local log = open()
        if not log or (caller ~= '' and redis.call('HEXISTS', MEMBERS, caller) == 0) then
          return {'absent'}
        end
        local fates, earlier, count = {}, {}, (#ARGV - 5) / size
        local present = now()
        for n = 1, count do
          local id, given, author, hash = unpack(ARGV, 6 + (n - 1) * size, 9 + (n - 1) * size)
          if given == '1' then
            local known = redis.call('HGET', IDS, id)
            local gone = not known and remembered(log, id, present, span)
            if known then
              local place, first, by = known:match('^(%d+)\\t(%x+)\\t(.*)$')
              if first ~= hash or by ~= author then return {'taken'} end
              fates[n] = {known = place}
            elseif gone then
              if gone.hash ~= hash or gone.author ~= author then return {'taken'} end
              fates[n] = {gone = {tonumber(gone.place), gone.value}}
            elseif earlier[id] then
              local same = earlier[id]
              if same.hash ~= hash or same.author ~= author then return {'taken'} end
              fates[n] = {again = same.at}
            else
              earlier[id] = {at = n, hash = hash, author = author}
            end
          end
        end
        local time, sent, told, new = math.max(present, log.activity), {}, {''}, 0
        local after = newest(log)
        for n = 1, count do
          local id, _, author, hash, mark, content =
            unpack(ARGV, 6 + (n - 1) * size, 11 + (n - 1) * size)
          if not fates[n] then
            log.seq = log.seq + 1
            local slot = int(log.seq)
            advance(log, slot, mark)
            local value = table.concat(
              {int(log.rev), int(time), '', '0', id, author, content}, '\\t')
            redis.call('HSET', MESSAGES, slot, value)
            redis.call('HSET', IDS, id, slot .. '\\t' .. hash .. '\\t' .. author)
            redis.call('HSET', READS, author, slot, '\\t' .. author, slot)
            log.last, new = log.seq, new + 1
            sent[n], told = {log.seq, value}, addParts(told, 'i', slot, mark, value)
          elseif fates[n].known then
            local place = fates[n].known
            sent[n] = {tonumber(place), redis.call('HGET', MESSAGES, place)}
          elseif fates[n].gone then
            sent[n] = fates[n].gone
          else
            sent[n] = sent[fates[n].again]
          end
        end
        if new > 0 then
          log.activity = time
          trim(log, retain, present, span)
          save(log)
          seal(log)
          told[1] = table.concat(addParts({}, 'messages', log.epoch, log.floor, log.seq))
          publish(told, '', after)
        end
        return {'done', head(log), new, sent}
        """

    /// Trims messages beyond the limit, a bounded part at a time, so that a long log that gets a
    /// limit blocks nobody. Marks are trimmed far behind the messages: a reader at a trimmed mark
    /// starts anew. Ids stay for a while.
    static let trimming = """
        -- What is known of a message that was trimmed, and not so long ago that its id is free. An
        -- older one may be of a log that had the name before.
        local function remembered(log, id, time, span)
          local record = redis.call('HGET', TRIMMED, id)
          if not record then return nil end
          local place, rev, sent, hash, author =
            record:match('^(%d+)\\t(%d+)\\t(%d+)\\t(%x+)\\t(.*)$')
          local began = tonumber(redis.call('HGET', META, 'createdAt')) or 0
          if not place or tonumber(place) >= log.floor or time - sent > span
            or tonumber(sent) < began
          then
            return nil
          end
          local value = table.concat({rev, sent, '', '2', id, author, '{}'}, '\\t')
          return {place = place, hash = hash, author = author, value = value}
        end

        local function remember(slot, value, time, span)
          local rev, sent, id = value:match('^(%d+)\\t(%d+)\\t%d*\\t%d\\t([^\\t]*)\\t')
          local known = id and redis.call('HGET', IDS, id)
          if not known then return end
          redis.call('HDEL', IDS, id)
          local first = redis.call('HGET', TRIMMED, '\\t\\t' .. slot)
          if first then redis.call('HDEL', TRIMMED, '\\t\\t' .. slot) end
          if time - sent > span then return end
          local record = table.concat(
            {slot, first or rev, sent, known:match('^%d+\\t(.*)$')}, '\\t')
          redis.call('HSET', TRIMMED, id, record, '\\t' .. slot, id)
        end

        -- Forgets ids that are too old or too many, oldest first.
        local function forget(log, known, time, span)
          local last = math.min(log.floor, known + 2500)
          while known < last do
            local slot = int(known)
            local id = redis.call('HGET', TRIMMED, '\\t' .. slot)
            if id then
              local record = redis.call('HGET', TRIMMED, id)
              local place, sent = (record or ''):match('^(%d+)\\t%d+\\t(%d+)\\t')
              local isOwn = place == slot
              if isOwn and log.floor - known <= 100000 and time - sent <= span then break end
              redis.call('HDEL', TRIMMED, '\\t' .. slot)
              if isOwn then redis.call('HDEL', TRIMMED, id) end
            end
            known = known + 1
          end
          redis.call('HSET', META, 'known', int(known))
        end

        local function trim(log, retain, time, span)
          if retain == 0 then return end
          local known = tonumber(redis.call('HGET', META, 'known')) or log.floor
          local floor = math.min(log.seq - retain + 1, log.floor + 2000)
          while log.floor < floor do
            local slot = int(log.floor)
            local value = redis.call('HGET', MESSAGES, slot)
            if value then remember(slot, value, time, span) end
            redis.call('HDEL', MESSAGES, slot)
            redis.call('ZREM', CHANGES, slot)
            redis.call('ZREM', DELETED, slot)
            log.floor = log.floor + 1
          end
          forget(log, known, time, span)
          if log.last < log.floor then log.last = 0 end
          local kept, limit = log.rev - log.base, math.max(65536, 4 * retain)
          if kept > 2 * limit then
            redis.call('SET', MARKS, redis.call('GETRANGE', MARKS, (kept - limit) * 8, -1))
            log.base = log.rev - limit
          end
        end

        """

    /// Arguments: id; epoch, rev of the record and rev of the message that were decided on; `u` or
    /// `d`, mark, author, content.
    static let replaceBody = """
        local id, epoch, record, seen, kind, mark, author, content = unpack(ARGV, 3)
        local log = open()
        if not log or log.epoch ~= epoch or int(log.record) ~= record then return {'stale'} end
        local known = redis.call('HGET', IDS, id)
        if not known then return {'stale'} end
        local slot = known:match('^%d+')
        local value = redis.call('HGET', MESSAGES, slot) or ''
        local rev, created, edited, gone = value:match('^(%d+)\\t(%d+)\\t(%d*)\\t(%d)\\t')
        if rev ~= seen then return {'stale'} end
        if edited == '' and gone == '0' then
          redis.call('HSETNX', TRIMMED, '\\t\\t' .. slot, rev)
        end
        local after = newest(log)
        advance(log, slot, mark)
        local place, isDeleted = tonumber(slot), '0'
        if kind == 'u' then
          edited = int(math.max(now(), tonumber(created)))
        else
          isDeleted = '1'
          redis.call('ZADD', DELETED, slot, slot)
          if log.last == place then
            -- From the newest slot that is not deleted on, tombstones are as many as slots.
            local low, high = math.max(log.floor, 1) - 1, place - 1
            while low < high do
              local middle = math.ceil((low + high) / 2)
              local gone = redis.call('ZCOUNT', DELETED, int(middle), int(place - 1))
              if gone < place - middle then low = middle else high = middle - 1 end
            end
            log.last = low >= log.floor and low or 0
          end
        end
        value = table.concat(
          {int(log.rev), created, edited, isDeleted, id, author, content}, '\\t')
        redis.call('HSET', MESSAGES, slot, value)
        save(log)
        seal(log)
        local event =
          addParts({}, 'messages', log.epoch, log.floor, log.seq, kind, slot, mark, value)
        publish(event, '', after)
        return {'done', head(log), 0, {{place, value}}}
        """

    /// Arguments: epoch and rev of the record that were decided on (both empty: the conversation
    /// must not exist), new epoch, mark, viewer, title after a `=` (empty: none), metadata, unknown
    /// fields, the number of admins afterwards, the key of a distinct conversation, the client that
    /// creates it (empty: the backend), the record for the feed, whether damaged members are
    /// replaced, the first word of the event, the admins afterwards, the number of rows to write;
    /// for each row user, whether admin, when joined (empty: now, behind all others), fields; then
    /// the users who leave.
    static let recordBody = """
        local epoch, record, newEpoch, mark, viewer, title, metadata, unknown, admins, distinct,
          creator, described, mends, word, rulers, written = unpack(ARGV, 3, 18)
        local log, isNew = open(), '0'
        local part = log and fault(log)
        if part and (part ~= MEMBERS or mends == '0') then return {'damaged', part} end
        -- Somebody has mended it.
        if mends == '1' and not part then return {'stale'} end
        if epoch == '' then
          if log then return {'taken'} end
          -- What a conversation without its meta left behind is nobody's.
          for _, key in ipairs(KEYS) do redis.call('UNLINK', key) end
          log = {
            epoch = newEpoch, seq = 0, rev = 0, floor = 1, activity = 0, last = 0, record = 0,
            base = 0}
          isNew = '1'
        elseif not log or log.epoch ~= epoch or int(log.record) ~= record then
          return {'stale'}
        end
        local times = redis.call('HMGET', META, 'createdAt', 'updatedAt', 'places')
        local updated = math.max(now(), tonumber(times[2]) or 0)
        local created, places = tonumber(times[1]) or updated, tonumber(times[3]) or 0
        local after = newest(log)
        advance(log, '0', mark)
        log.record, log.activity = log.rev, math.max(updated, log.activity)
        -- Whoever leaves or joins has read what they wrote themselves, and no more. Of a log of
        -- an earlier version that is not known of all.
        local function unread(users)
          local names = {}
          for n, user in ipairs(users) do names[n] = '\\t' .. user end
          for n, own in ipairs(redis.call('HMGET', READS, unpack(names))) do
            if own == '0' then redis.call('HDEL', READS, users[n], names[n]) end
            if own and own ~= '0' then redis.call('HSET', READS, users[n], own) end
          end
        end
        -- A thousand people must not take two thousand commands.
        local function inParts(list, first, last, take)
          for low = first, last, 500 do take({unpack(list, low, math.min(low + 499, last))}) end
        end
        if mends == '1' then
          redis.call('UNLINK', MEMBERS)
          if log.tag then redis.call('HSET', MEMBERS, '\\t\\ttag', log.tag) end
        end
        local at, stamp, rows, joins = 19, int(updated), {}, {}
        -- First, since whoever leaves may come back with the same call.
        inParts(ARGV, at + 4 * tonumber(written), #ARGV, function(users)
          redis.call('HDEL', MEMBERS, unpack(users))
          unread(users)
        end)
        for _ = 1, tonumber(written) do
          local user, isAdmin, joined, fields = unpack(ARGV, at, at + 3)
          at = at + 4
          if joined == '' then
            joins[#joins + 1] = user
            places = places + 1
            joined = int(places) .. '\\t' .. stamp
          end
          rows[#rows + 1] = user
          rows[#rows + 1] = isAdmin .. '\\t' .. joined .. '\\t' .. stamp .. '\\t' .. fields
        end
        -- A new log has no markers.
        if mends == '0' and isNew == '0' then inParts(joins, 1, #joins, unread) end
        inParts(rows, 1, #rows, function(part) redis.call('HSET', MEMBERS, unpack(part)) end)
        save(log)
        redis.call(
          'HSET', META, 'createdAt', int(created), 'updatedAt', int(updated), 'places',
          int(places), 'metadata', metadata, 'unknown', unknown, 'admins', admins, 'rulers',
          int(log.record) .. '\\t' .. rulers)
        if distinct ~= '' then redis.call('HSET', META, 'distinct', distinct) end
        if creator ~= '' then redis.call('HSET', META, 'createdBy', creator) end
        if title == '' then
          redis.call('HDEL', META, 'title')
        else
          redis.call('HSET', META, 'title', title:sub(2))
        end
        seal(log)
        local event = addParts(
          {}, word, log.epoch, log.floor, log.seq, log.rev, mark, isNew, created, updated)
        publish(event, described, after)
        return show(log, viewer, {})
        """

    /// Arguments: epoch and rev of the record that were decided on, the participants for the feed.
    static let removeBody = """
        local epoch, record, described = unpack(ARGV, 3)
        local log = open()
        if not log or log.epoch ~= epoch or int(log.record) ~= record then return {'stale'} end
        local distinct = redis.call('HGET', META, 'distinct')
        for _, key in ipairs(KEYS) do redis.call('UNLINK', key) end
        publish(addParts({}, 'deleted', log.epoch), described)
        return {'done', distinct}
        """

    /// Arguments: user, seq.
    static let readBody = """
        local user, seq = ARGV[3], tonumber(ARGV[4])
        local log = open()
        if not log or redis.call('HEXISTS', MEMBERS, user) == 0 then return {'absent'} end
        if seq < 0 or seq > log.seq then return {'range', log.seq} end
        local place = tonumber(redis.call('HGET', READS, user)) or 0
        if seq > place then
          redis.call('HSETNX', READS, '\\t' .. user, int(place))
          redis.call('HSET', READS, user, int(seq))
          if log.seal and log.seal:match('^%d+') == int(log.rev) then seal(log) end
          publish(addParts({}, 'read', user, seq))
        end
        return {'done', reading(log, user)}
        """

    /// Arguments: epoch, rev and mark that a holder saw, new epoch. A trimmed mark is no reason:
    /// its holder is behind, and the log is sound. Replies with the reason for the new epoch
    /// (empty: none given).
    static let forkEpochBody = """
        local epoch, rev, mark, newEpoch = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]
        local log = open()
        if not log then return {'absent'} end
        local reason = ''
        if log.epoch == epoch and rev > log.base and not has(log, rev, mark) then
          reason = rev > log.rev and 'rewound' or 'forked'
          log.epoch = newEpoch
          redis.call('HSET', META, 'epoch', newEpoch)
        end
        return {'done', head(log), reason}
        """

    /// Stores a request to disconnect a user for an hour, and publishes it. Key: the stream.
    /// Arguments (after the command and channel): user, whether they may come back, the request's
    /// nonce, and the three packed for the feed.
    static let disconnectBody = """
        local time = redis.call('TIME')
        local oldest = (time[1] - 3600) * 1000
        local id = redis.call(
          'XADD', KEYS[1], 'MINID', '=', string.format('%.0f', oldest), '*', 'user', ARGV[3],
          'back', ARGV[4], 'by', ARGV[5])
        redis.call(ARGV[1], ARGV[2], '10:disconnect' .. #id .. ':' .. id .. ARGV[6])
        return {'done', id}
        """

    /// Key: the stream. Arguments: the first id, the number of entries. Replies with the server's
    /// clock, in milliseconds, and the entries.
    static let disconnectsBody = """
        local time = redis.call('TIME')
        return {
          'done', time[1] * 1000, redis.call('XRANGE', KEYS[1], ARGV[1], '+', 'COUNT', ARGV[2])}
        """

    /// Claims the distinct conversation of some people for an id, by compare-and-set. Key: the
    /// people's. Arguments: the id seen (empty: none), the new one (empty: none). Replies with the
    /// present id.
    static let claimBody = """
        local present = redis.call('GET', KEYS[1]) or ''
        if present == ARGV[1] then
          present = ARGV[2]
          if present == '' then
            redis.call('DEL', KEYS[1])
          else
            redis.call('SET', KEYS[1], present)
          end
        end
        return {'done', present}
        """
}
