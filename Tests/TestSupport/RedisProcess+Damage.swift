/// What tests do to a single key, as an eviction, an operator or a fault would.
extension RedisProcess {
    /// Gives two keys each other's values.
    ///
    /// - Throws: as `ask`.
    package func swap(_ key: String, _ other: String) throws {
        try ask("RENAME", key, key + "-kept")
        try ask("RENAME", other, key)
        try ask("RENAME", key + "-kept", other)
    }

    /// Takes out all that a string, a sorted set or a hash holds.
    ///
    /// - Throws: as `ask`.
    package func empty(_ key: String) throws { try ask("EVAL", Self.cut, "1", key, "all") }

    /// Takes out a part: the last eight bytes, the last entry, or one field.
    ///
    /// - Throws: as `ask`.
    package func truncate(_ key: String) throws { try ask("EVAL", Self.cut, "1", key, "part") }

    /// Of a hash not the epoch, without which it is no head, nor the tag of its log.
    private static let cut = """
        local kind, all = redis.call('TYPE', KEYS[1]).ok, ARGV[1] == 'all'
        if kind == 'string' then
          redis.call('SET', KEYS[1], all and '' or redis.call('GETRANGE', KEYS[1], 0, -9))
        elseif kind == 'zset' then
          redis.call('ZREMRANGEBYRANK', KEYS[1], all and 0 or -1, -1)
        else
          local left = all and 1000 or 1
          for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do
            if left > 0 and field ~= 'epoch' and field ~= '\\t\\ttag' then
              redis.call('HDEL', KEYS[1], field)
              left = left - 1
            end
          end
        end
        return kind
        """
}
