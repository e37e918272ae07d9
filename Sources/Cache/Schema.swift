import SQLite

/// The schema of the database file: numbered migrations, run at open, each in a transaction of its
/// own. A released migration never changes; a new one is appended.
///
/// How the tables represent the log of `protocol.md` 1:
/// - `conversation` is slot 0 with the log's head. A removed one keeps its row (`removed` is 3
///   while its participants are being purged, if they are many, 1 while its messages are, 2 after),
///   so that lists can report the removal; its id is free at once.
/// - `message` is the slots from 1 on, by place: a page is one walk along the primary key, which is
///   why the table has no rowid. `json` is the whole message as it is sent, `sent` the hash of what
///   its author first sent.
/// - `reaction` is who reacts to messages that are not deleted, each with the rev that began it; a
///   message's `json` has what is shown of them.
/// - `mention` is whom messages that are not deleted mention: a row for each user but the author,
///   or one without a user (empty) for a message that mentions everybody.
/// - `presence` is how users are there by a gateway, or when that ended, in milliseconds;
///   `presence_lease` is when a gateway was heard last.
/// - `member` is the participants (`member` 1), the former ones (0), and users who never took part
///   but have a read marker (0, `touched` 0).
/// - `incarnation` names the process that wrote a log from a rev on; conversation 0 is the list of
///   conversations, a log of its own whose revs are `touched`.
/// - `coverage` is what a cache of another origin holds: runs, each as of its own rev. Such a file
///   also uses `conversation.changes_from` and `held` (its rows in `message`), and the marks of
///   revs as far as they are known (`conversation.record_mark`, `message.mark`).
/// - `state` is one row: the list's head, its floor, and the number of messages.
/// - `tail` is the logs whose last messages, above a seq, are in `message` and nowhere else, with
///   their heads. What else each of them would have changed is derived from it until the tail is
///   folded (`TailWrites`), so a sent message costs three pages, and many to many conversations
///   share two of them. The view `log` is `conversation` as of the tail: the head is read from
///   there and nowhere else.
/// - `place_by_id` and `place_by_rev` find the folded messages, and the indexes on `id` and `rev`
///   those from before the eighth version and those of a cache: their `touched` is NULL. In a
///   message of a log it is the list's rev.
enum Schema {
    /// "GPLS": identifies the file as this program's, for `file(1)` and for us.
    static let applicationID = 0x4750_4C53

    static let migrations = [
        first, second, third, fourth, fifth, sixth, seventh, eighth, ninth, tenth,
    ]

    /// Migrates the file from this version to the newest.
    /// - Throws: `CacheError`, SQLite's failure.
    static func migrate(_ connection: Connection, from version: Int) throws(CacheError) {
        for (number, script) in migrations.enumerated().dropFirst(version) {
            try connection.execute(
                """
                BEGIN IMMEDIATE;
                \(script)
                PRAGMA application_id = \(applicationID);
                PRAGMA user_version = \(number + 1);
                COMMIT;
                """)
        }
    }

    /// Checks whether the file can be migrated.
    /// - Returns: its version.
    /// - Throws: `CacheError`: `otherProgram`, `newerVersion`, or `damaged` if it is no version.
    @discardableResult
    static func check(_ connection: Connection, path: String) throws(CacheError) -> Int {
        let version = try connection.integer("PRAGMA user_version") ?? 0
        let application = try connection.integer("PRAGMA application_id") ?? 0
        let objects = try connection.integer("SELECT count(*) FROM sqlite_schema") ?? 0
        let isEmpty = version == 0 && application == 0 && objects == 0
        guard isEmpty || application == applicationID else {
            throw CacheError(
                .otherProgram, doing: "open cache", on: path,
                seen: "it is a database of another program", detail: "application_id \(application)"
            )
        }
        guard version <= migrations.count else {
            throw CacheError(
                .newerVersion, doing: "open cache", on: path,
                seen: "it was written by a newer version of this program, as version \(version)",
                detail: "up to \(migrations.count) is known here")
        }
        guard isEmpty || version > 0 else {
            throw CacheError(
                .damaged, doing: "open cache", on: path,
                seen: "no version of this program writes such a file",
                detail: "user_version \(version)")
        }
        return version
    }

    private static let first = """
        CREATE TABLE state (
            id INTEGER PRIMARY KEY CHECK (id = 0),
            origin TEXT NOT NULL,
            touched INTEGER NOT NULL,
            mark TEXT NOT NULL,
            floor INTEGER NOT NULL,
            messages INTEGER NOT NULL
        );
        INSERT INTO state VALUES (0, '', 0, '', 0, 0);

        CREATE TABLE conversation (
            cid INTEGER PRIMARY KEY,
            id TEXT NOT NULL,
            removed INTEGER NOT NULL DEFAULT 0,
            epoch TEXT NOT NULL,
            seq INTEGER NOT NULL,
            rev INTEGER NOT NULL,
            mark TEXT NOT NULL,
            floor INTEGER NOT NULL,
            record_rev INTEGER NOT NULL,
            last_seq INTEGER NOT NULL,
            activity INTEGER NOT NULL,
            touched INTEGER NOT NULL,
            title TEXT,
            metadata BLOB NOT NULL,
            unknown BLOB,
            created_at INTEGER NOT NULL,
            updated_at INTEGER NOT NULL,
            people BLOB
        );
        CREATE UNIQUE INDEX conversation_id ON conversation (id) WHERE removed = 0;
        CREATE INDEX conversation_people ON conversation (people)
            WHERE removed = 0 AND people IS NOT NULL;
        CREATE INDEX conversation_removed ON conversation (removed, touched) WHERE removed > 0;

        CREATE TABLE message (
            cid INTEGER NOT NULL,
            seq INTEGER NOT NULL,
            rev INTEGER NOT NULL,
            id TEXT NOT NULL,
            author TEXT NOT NULL,
            created_at INTEGER NOT NULL,
            deleted INTEGER NOT NULL,
            sent BLOB,
            json BLOB NOT NULL,
            PRIMARY KEY (cid, seq)
        ) WITHOUT ROWID;
        CREATE UNIQUE INDEX message_id ON message (cid, id);
        CREATE INDEX message_rev ON message (cid, rev);
        CREATE INDEX message_deleted ON message (cid, seq) WHERE deleted = 1;

        CREATE TABLE member (
            cid INTEGER NOT NULL,
            user TEXT NOT NULL,
            member INTEGER NOT NULL,
            admin INTEGER NOT NULL,
            place INTEGER NOT NULL,
            last_read INTEGER NOT NULL,
            touched INTEGER NOT NULL,
            created_at INTEGER NOT NULL,
            updated_at INTEGER NOT NULL,
            name TEXT,
            metadata BLOB,
            unknown BLOB,
            PRIMARY KEY (cid, user)
        ) WITHOUT ROWID;
        CREATE INDEX member_user ON member (user, member, cid);
        CREATE INDEX member_place ON member (cid, place) WHERE member = 1;
        CREATE INDEX member_admin ON member (cid) WHERE admin = 1;

        CREATE TABLE incarnation (
            cid INTEGER NOT NULL,
            from_rev INTEGER NOT NULL,
            mark TEXT NOT NULL,
            PRIMARY KEY (cid, from_rev)
        ) WITHOUT ROWID;

        CREATE TABLE coverage (
            cid INTEGER NOT NULL,
            low INTEGER NOT NULL,
            high INTEGER NOT NULL,
            as_of INTEGER NOT NULL,
            PRIMARY KEY (cid, low)
        ) WITHOUT ROWID;
        """

    /// The columns of a cache of another origin, beside its coverage.
    private static let second = """
        ALTER TABLE conversation ADD COLUMN changes_from INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE conversation ADD COLUMN held INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE conversation ADD COLUMN record_mark TEXT;
        ALTER TABLE message ADD COLUMN mark TEXT;
        """

    /// The newest change whose value was taken from a log, if the cache's position is below it.
    private static let third = """
        ALTER TABLE conversation ADD COLUMN seen_seq INTEGER;
        ALTER TABLE conversation ADD COLUMN seen_rev INTEGER;
        ALTER TABLE conversation ADD COLUMN seen_mark TEXT;
        """

    /// The client that created a conversation of the log.
    private static let fourth = """
        ALTER TABLE conversation ADD COLUMN created_by TEXT;
        """

    /// The newest seq that a user wrote; NULL where it is unknown: then at most the read marker.
    private static let fifth = """
        ALTER TABLE member ADD COLUMN sent INTEGER;
        """

    /// The number of participants; NULL until the record first changes after this migration.
    private static let sixth = """
        ALTER TABLE conversation ADD COLUMN members INTEGER;
        """

    /// Every message that is not deleted lies at or below it, except the last one; NULL where that
    /// is unknown. Without it each deletion of the last message would walk over all tombstones
    /// below.
    private static let seventh = """
        ALTER TABLE conversation ADD COLUMN rest_up_to INTEGER;
        """

    /// Tails. `message_rev` holds `touched` so that the index alone answers.
    private static let eighth = """
        ALTER TABLE message ADD COLUMN touched INTEGER;
        DROP INDEX message_id;
        CREATE UNIQUE INDEX message_id ON message (cid, id) WHERE touched IS NULL;
        DROP INDEX message_rev;
        CREATE INDEX message_rev ON message (cid, rev, touched) WHERE touched IS NULL;

        CREATE TABLE place_by_id (
            cid INTEGER NOT NULL,
            id TEXT NOT NULL,
            seq INTEGER NOT NULL,
            PRIMARY KEY (cid, id)
        ) WITHOUT ROWID;
        CREATE TABLE place_by_rev (
            cid INTEGER NOT NULL,
            rev INTEGER NOT NULL,
            seq INTEGER NOT NULL,
            PRIMARY KEY (cid, rev)
        ) WITHOUT ROWID;
        CREATE TABLE tail (
            cid INTEGER PRIMARY KEY,
            above INTEGER NOT NULL,
            seq INTEGER NOT NULL,
            rev INTEGER NOT NULL,
            activity INTEGER NOT NULL,
            touched INTEGER NOT NULL
        );

        CREATE VIEW log AS
            SELECT c.cid, c.id, c.removed, c.epoch, coalesce(t.seq, c.seq) AS seq,
                coalesce(t.rev, c.rev) AS rev, c.mark, c.floor, c.record_rev,
                coalesce(t.seq, c.last_seq) AS last_seq,
                coalesce(t.activity, c.activity) AS activity,
                coalesce(t.touched, c.touched) AS touched, c.members,
                iif(t.seq IS NULL, c.rest_up_to, iif(t.seq > c.seq + 1, t.seq - 1, c.last_seq))
                    AS rest_up_to,
                t.above
            FROM conversation AS c LEFT JOIN tail AS t ON t.cid = c.cid;
        """

    /// Counts what a user created.
    private static let ninth = """
        CREATE INDEX conversation_by_creator ON conversation (created_by)
            WHERE created_by IS NOT NULL AND removed = 0;
        """

    /// Reactions, mentions, and who is there. `content_rev` is NULL where nobody ever reacted; a
    /// tombstone has it as long as reactions to it are to be purged. `address` is NULL where no
    /// field of it is set: what is under the names of those fields was stored by an earlier
    /// version. `joined_seq` is 0 where an earlier version let the user join.
    private static let tenth = """
        ALTER TABLE message ADD COLUMN content_rev INTEGER;
        ALTER TABLE message ADD COLUMN address INTEGER;
        ALTER TABLE member ADD COLUMN joined_seq INTEGER NOT NULL DEFAULT 0;
        CREATE TABLE mention (
            cid INTEGER NOT NULL,
            user TEXT NOT NULL,
            seq INTEGER NOT NULL,
            author TEXT NOT NULL,
            PRIMARY KEY (cid, user, seq)
        ) WITHOUT ROWID;
        CREATE INDEX mention_place ON mention (cid, seq);
        CREATE TABLE reaction (
            cid INTEGER NOT NULL,
            seq INTEGER NOT NULL,
            user TEXT NOT NULL,
            key TEXT NOT NULL,
            rev INTEGER NOT NULL,
            at INTEGER NOT NULL,
            PRIMARY KEY (cid, seq, user, key)
        ) WITHOUT ROWID;
        CREATE INDEX message_reacted ON message (deleted, cid, seq)
            WHERE deleted = 1 AND content_rev IS NOT NULL;
        CREATE UNIQUE INDEX reaction_rev ON reaction (cid, seq, rev);
        CREATE INDEX reaction_key ON reaction (cid, seq, key, rev);

        CREATE TABLE presence (
            user TEXT PRIMARY KEY,
            gateway TEXT NOT NULL,
            away INTEGER NOT NULL,
            since INTEGER NOT NULL,
            said INTEGER NOT NULL,
            ended INTEGER,
            until INTEGER
        ) WITHOUT ROWID;
        CREATE INDEX presence_said ON presence (said);
        CREATE TABLE presence_lease (
            gateway TEXT PRIMARY KEY,
            renewed INTEGER NOT NULL
        ) WITHOUT ROWID;
        CREATE INDEX presence_renewed ON presence_lease (renewed);
        """
}
