import SQLite

/// Checks row by row whether the file holds what it claims. For tests, for the time after a crash
/// and for a file under suspicion; it reads everything and may be slow.
///
/// Some rows may be ahead of the stream: a live change above a hole is stored before the stream
/// reaches it, so a message may have a `rev` or a seq above the head's. Such a row proves only its
/// own value, and it is covered if a run says so, as any other.
extension Store {
    /// A condition that must hold nowhere: a query whose rows are the violations. Each row is a
    /// conversation's number and up to two more numbers, never anything that a user wrote.
    private struct Fault {
        let seen: String
        let query: String
        init(_ seen: String, _ query: String) {
            self.seen = seen
            self.query = query
        }
    }

    /// The violations in the file, one line each, at most a hundred of a kind; empty if there are
    /// none.
    /// - Throws: `CacheError`, if the file can't be read.
    package func audit() throws(CacheError) -> [String] {
        let connection = try readingConnection()
        // One snapshot, although other connections write meanwhile.
        try connection.execute("BEGIN")
        var findings: [String] = []
        for fault in Self.anywhere + (isOrigin ? Self.inALog : Self.inACache) {
            let statement = try connection.prepare("SELECT * FROM (\(fault.query)) LIMIT 100")
            findings += try statement.all {
                "\(fault.seen): conversation \($0.int(0)), \($0.int(1)), \($0.int(2))"
            }
        }
        return findings
    }

    private static let anywhere = [
        Fault(
            "a message of no conversation",
            """
            SELECT m.cid, min(m.seq), count(*) FROM message AS m
            LEFT JOIN conversation AS c ON c.cid = m.cid AND c.removed < 2
            WHERE c.cid IS NULL GROUP BY m.cid
            """),
        Fault(
            "the messages are counted wrong (counted, there)",
            """
            SELECT 0, messages, there FROM state, (SELECT count(*) AS there FROM message)
            WHERE messages <> there
            """),
        Fault(
            "the last message is another one (noted, there)",
            """
            SELECT cid, last_seq, there FROM (
                SELECT cid, last_seq, (SELECT coalesce(max(seq), 0) FROM message AS m
                    WHERE m.cid = c.cid AND m.deleted = 0) AS there
                FROM log AS c WHERE removed = 0) WHERE last_seq <> there
            """),
        Fault(
            "two slots have one rev (rev, slots)",
            """
            SELECT cid, rev, count(*) FROM (
                SELECT cid, rev FROM message
                UNION ALL SELECT cid, record_rev FROM conversation WHERE removed = 0)
            GROUP BY cid, rev HAVING count(*) > 1
            """),
        Fault(
            "those who take part are counted wrong (counted, there)",
            """
            SELECT cid, members, there FROM (
                SELECT cid, members, (SELECT count(*) FROM member AS m
                    WHERE m.cid = c.cid AND m.member = 1) AS there
                FROM conversation AS c WHERE removed = 0 AND members IS NOT NULL)
            WHERE members <> there
            """),
        Fault(
            "a participant of no conversation",
            """
            SELECT m.cid, count(*), 0 FROM member AS m LEFT JOIN conversation AS c ON c.cid = m.cid
            WHERE c.cid IS NULL OR (m.member = 1 AND c.removed IN (1, 2)) GROUP BY m.cid
            """),
        Fault(
            "a message lies above where the search for the last one begins (message, begin)",
            """
            SELECT c.cid, m.seq, c.rest_up_to FROM log AS c CROSS JOIN message AS m
                ON m.cid = c.cid AND m.seq > c.rest_up_to AND m.seq < c.last_seq
            WHERE c.removed = 0 AND m.deleted = 0
            """),
    ]

    /// The embedded log: every seq up to the head has its message.
    private static let inALog = [
        Fault(
            "a message shows other reactions than there are (place, there)",
            """
            SELECT cid, seq, there FROM (
                SELECT cid, seq, (SELECT count(*) FROM reaction AS r
                        WHERE r.cid = m.cid AND r.seq = m.seq) AS there,
                    (SELECT coalesce(sum(value ->> 'count'), 0)
                        FROM json_each(CAST(m.json AS TEXT), '$.reactions')) AS shown
                FROM message AS m WHERE content_rev IS NOT NULL AND deleted = 0)
            WHERE shown <> there
            """),
        Fault(
            "others are mentioned than a message says (place, said)",
            """
            SELECT cid, seq, said FROM (
                SELECT cid, seq, (SELECT count(*) FROM mention AS n
                        WHERE n.cid = m.cid AND n.seq = m.seq) AS there,
                    iif(deleted = 1 OR coalesce(address, 0) & 6 = 0, 0, iif(address & 4, 1,
                        (SELECT count(*) FROM json_each(CAST(m.json AS TEXT), '$.mentions')
                            WHERE value <> m.author))) AS said
                FROM message AS m)
            WHERE said <> there
            """),
        Fault(
            "a place has no message (head, messages)",
            """
            SELECT cid, seq, there FROM (
                SELECT cid, seq, (SELECT count(*) FROM message AS m WHERE m.cid = c.cid
                    AND m.seq BETWEEN 1 AND c.seq) AS there
                FROM log AS c WHERE removed = 0) WHERE seq <> there
            """),
        Fault(
            "a message lies above the head (message, head)",
            """
            SELECT c.cid, m.seq, c.seq FROM log AS c CROSS JOIN message AS m ON m.cid = c.cid
            WHERE c.removed = 0 AND (m.seq > c.seq OR m.rev > c.rev)
            """),
        Fault(
            "a tail does not begin at the head that is written (tail, head)",
            """
            SELECT t.cid, t.above, c.seq FROM tail AS t LEFT JOIN conversation AS c ON c.cid = t.cid
            WHERE c.removed IS NOT 0 OR c.seq <> t.above
                OR NOT EXISTS (SELECT 1 FROM message WHERE cid = t.cid AND seq > t.above)
            """),
        Fault(
            "a tail has what is no new message (message, rev)",
            """
            SELECT t.cid, m.seq, m.rev FROM tail AS t JOIN conversation AS c ON c.cid = t.cid
            JOIN message AS m ON m.cid = t.cid AND m.seq > t.above
            WHERE m.touched IS NULL OR m.deleted <> 0 OR m.rev <> c.rev + m.seq - c.seq
            """),
        Fault(
            "a tail has another head than its last message (head, message)",
            """
            SELECT t.cid, t.seq, m.seq FROM tail AS t LEFT JOIN message AS m ON m.cid = t.cid
                AND m.seq = (SELECT max(seq) FROM message WHERE cid = t.cid)
            WHERE (t.seq, t.rev, t.activity, t.touched)
                IS NOT (m.seq, m.rev, m.created_at, m.touched)
            """),
        Fault(
            "a tail stands under another mark than the head (head, from there on)",
            """
            SELECT t.cid, t.rev, i.from_rev FROM tail AS t
            LEFT JOIN conversation AS c ON c.cid = t.cid
            LEFT JOIN incarnation AS i ON i.cid = t.cid AND i.from_rev = (
                SELECT max(from_rev) FROM incarnation WHERE cid = t.cid AND from_rev <= t.rev)
            WHERE i.mark IS NOT c.mark OR i.from_rev > c.rev
            """),
        Fault(
            "a folded message lies above what its author has read or sent (message, sent)",
            """
            SELECT m.cid, m.seq, coalesce(r.sent, 0) FROM (
                SELECT m.cid, m.author, max(m.seq) AS seq FROM message AS m
                LEFT JOIN tail AS t ON t.cid = m.cid
                WHERE m.touched IS NOT NULL AND m.seq <= coalesce(t.above, m.seq)
                GROUP BY m.cid, m.author) AS m
            JOIN conversation AS c ON c.cid = m.cid AND c.removed = 0
            LEFT JOIN member AS r ON r.cid = m.cid AND r.user = m.author
            WHERE min(coalesce(r.last_read, 0), coalesce(r.sent, 0)) < m.seq
            """),
        Fault(
            "a message is not found by its id, or by its rev (message)",
            """
            SELECT m.cid, m.seq, 0 FROM message AS m LEFT JOIN tail AS t ON t.cid = m.cid
            LEFT JOIN place_by_id AS i ON i.cid = m.cid AND i.id = m.id
            LEFT JOIN place_by_rev AS r ON r.cid = m.cid AND r.rev = m.rev
            WHERE m.touched IS NOT NULL AND m.seq <= coalesce(t.above, m.seq)
                AND (i.seq IS NOT m.seq OR r.seq IS NOT m.seq)
            """),
        Fault(
            "an id or a rev leads to another message, or to none (place)",
            """
            SELECT p.cid, p.seq, 0 FROM (
                SELECT cid, seq, id, NULL AS rev FROM place_by_id
                UNION ALL SELECT cid, seq, NULL, rev FROM place_by_rev) AS p
            LEFT JOIN conversation AS c ON c.cid = p.cid
            LEFT JOIN message AS m ON m.cid = p.cid AND m.seq = p.seq
            WHERE c.cid IS NULL OR (c.removed = 0
                AND (m.id IS NOT coalesce(p.id, m.id) OR m.rev IS NOT coalesce(p.rev, m.rev)))
            """),
        Fault(
            "messages have one id (first, messages)",
            "SELECT cid, min(seq), count(*) FROM message GROUP BY cid, id HAVING count(*) > 1"),
    ]

    /// The cache of another origin: every place that the coverage names is held.
    private static let inACache = [
        Fault("a tail, which only a log has (tail)", "SELECT cid, above, 0 FROM tail"),
        Fault(
            "a place is covered and has no message (run)",
            """
            SELECT cid, low, high FROM coverage AS r
            WHERE cid IN (SELECT cid FROM conversation WHERE removed = 0)
                AND high - low + 1 <> (SELECT count(*) FROM message AS m
                    WHERE m.cid = r.cid AND m.seq BETWEEN r.low AND r.high)
            """),
        Fault(
            "a run is none, or lies below the floor (run)",
            """
            SELECT r.cid, r.low, r.high FROM coverage AS r JOIN conversation AS c ON c.cid = r.cid
            WHERE c.removed = 0 AND (r.low < max(1, c.floor) OR r.high < r.low)
            """),
        Fault(
            "two runs overlap, or touch as of one rev (lower one's high, upper one's low)",
            """
            SELECT cid, below, low FROM (
                SELECT cid, low, as_of, lag(high) OVER w AS below, lag(as_of) OVER w AS other
                FROM coverage WINDOW w AS (PARTITION BY cid ORDER BY low))
            WHERE below >= low OR (below = low - 1 AND other = as_of)
            """),
        Fault(
            "a run of no conversation (run)",
            """
            SELECT r.cid, r.low, r.high FROM coverage AS r
            LEFT JOIN conversation AS c ON c.cid = r.cid AND c.removed < 2 WHERE c.cid IS NULL
            """),
        Fault(
            "a message lies below the floor (message, floor)",
            """
            SELECT c.cid, m.seq, c.floor FROM conversation AS c JOIN message AS m
                ON m.cid = c.cid AND m.seq < c.floor WHERE c.removed = 0
            """),
        Fault(
            "the messages of a conversation are counted wrong (counted, there)",
            """
            SELECT cid, held, there FROM (
                SELECT cid, held, (SELECT count(*) FROM message AS m WHERE m.cid = c.cid) AS there
                FROM conversation AS c WHERE removed = 0) WHERE held <> there
            """),
        Fault(
            "the change at the head has another mark than the head (message, rev)",
            """
            SELECT c.cid, m.seq, c.rev FROM conversation AS c JOIN message AS m
                ON m.cid = c.cid AND m.rev = c.rev WHERE c.removed = 0 AND m.mark <> c.mark
            """),
    ]
}
