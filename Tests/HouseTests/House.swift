/// The tables that the rules of this house go by. The author of a target, a C library, a file with
/// unsafe pointers or a name at the top level adds it here. That tells the reader.
enum House {
    /// The targets, lowest row first. Imports point down; never within a row.
    static let rows: [[String]] = [
        [
            "CCrypto", "CCurl", "CHiredis", "CLinux", "CPostgres", "CRelease",
            "CScripts", "CSQLite", "CWebSockets", "Recorder",
        ],
        ["JSON"],
        ["Bench", "Chat"],
        ["Wire"],
        ["ClientCore", "Ports"],
        ["Rules"],
        ["Engine"],
        ["ClientSystem", "Crypto", "Postgres", "Simulation", "SocketLoop", "SQLite"],
        ["Cache", "LoopTransport", "URLSessionTransport", "WebSockets"],
        ["CacheBench", "GaplessClient", "Upstream"],
        ["Configuration", "GaplessFoundation", "GaplessTesting"],
        ["Gateway"],
        ["Commands"],
        [
            "gapless", "gapless-bench", "gapless-bot", "gapless-example", "gapless-limit",
            "gapless-plain", "gapless-sends",
        ],
    ]

    /// Folders below `Sources` that are no target, but hold some.
    static let folders: Set<String> = ["Measuring"]

    /// The targets without clock, thread, file or socket: the standard library and lower rows only.
    static let pure: Set<String> = [
        "JSON", "Chat", "Wire", "ClientCore", "Ports", "Rules", "Engine", "Simulation",
    ]

    /// What the shell may use of the system.
    static let systemModules: Set<String> = ["Dispatch", "Glibc", "Synchronization"]

    /// What some targets may use of the system, beside that.
    static let systemDoors: [String: Set<String>] = [
        "Darwin": ["ClientSystem"], "Musl": ["ClientSystem"],
        "Foundation": ["GaplessFoundation", "URLSessionTransport"],
        "FoundationNetworking": ["URLSessionTransport"], "Observation": ["GaplessClient"],
        "SQLite3": ["SQLite"],
    ]

    /// The targets that may import a C module.
    static let doors: [String: Set<String>] = [
        "CCrypto": ["Crypto"], "CCurl": ["Commands"], "CHiredis": ["Upstream"],
        "CLinux": ["Bench"], "CRelease": ["Gateway"], "CPostgres": ["Postgres"],
        "CScripts": ["Postgres", "Upstream"],
        "CSQLite": ["SQLite"],
        "CWebSockets": ["SocketLoop", "WebSockets", "LoopTransport"],
        "Recorder": ["CacheBench"],
    ]

    /// The files in which unsafe pointers stay, each at the edge to C.
    static let pointerFiles: Set<String> = [
        // libpq, in plain turns: the handle of a connection, and what it answers.
        "Sources/Postgres/SchemaSession.swift",
        // SQLite: the handle of a file, of a statement with what is bound to it, and of a backup.
        "Sources/SQLite/Connection+Copy.swift",
        "Sources/SQLite/Connection+Locks.swift",
        "Sources/SQLite/Connection.swift",
        "Sources/SQLite/Statement.swift",
        // libcrypto: digests, keys with their contexts, signatures and the numbers of both.
        "Sources/Crypto/Digest.swift",
        "Sources/Crypto/ECDSASignature.swift",
        "Sources/Crypto/KeyHandle.swift",
        "Sources/Crypto/PublicNumbers.swift",
        // libssl: a session and the bytes that it takes and gives.
        "Sources/Crypto/TLSSession.swift",
        // libcurl, for the replay; a line to a descriptor; the address of the service manager; the
        // names in a directory.
        "Sources/Commands/Replay/HTTPClient.swift",
        "Sources/Gateway/Operations/Logger.swift",
        "Sources/Gateway/Operations/Supervisor.swift",
        "Sources/Gateway/Page.swift",
        // A piece of text into room that was made for it.
        "Sources/JSON/OutputSpan+JSON.swift",
        // libpq: the handle of a connection, the results that it reads, and the parts of a URL.
        "Sources/Postgres/PostgresConnection.swift",
        "Sources/Postgres/PostgresHosts.swift", "Sources/Postgres/CommitWarnings.swift",
        // hiredis: the handle of a connection, and the replies that it reads.
        "Sources/Upstream/Redis/RedisConnection.swift",
        "Sources/Upstream/Redis/RedisReplyReader.swift",
        // libwebsockets and libev: what owns their handles, and what they call.
        "Sources/WebSockets/Callbacks.swift",
        "Sources/WebSockets/Certificate.swift",
        "Sources/LoopTransport/ClientCallbacks.swift",
        "Sources/LoopTransport/ClientHost.swift",
        "Sources/SocketLoop/EventLoop.swift",
        "Sources/SocketLoop/LibraryLog.swift",
        "Sources/WebSockets/LibrarySocket.swift",
        "Sources/WebSockets/SendBuffer.swift",
        "Sources/WebSockets/SocketAddress.swift",
        "Sources/WebSockets/VirtualHost.swift",
        "Sources/SocketLoop/Watchers.swift",
        // The load generator: memory compared and searched, addresses of sockets, names in a
        // directory.
        "Sources/Measuring/Bench/Swarm/Bytes.swift",
        "Sources/Measuring/Bench/Swarm/Socket.swift",
        "Sources/Measuring/Bench/System/Files+Directories.swift",
    ]

    /// The files with a type that owns a thread, or is touched on one only, and is therefore
    /// `@unchecked Sendable`.
    static let threadOwners: Set<String> = [
        "Sources/Cache/Writer.swift",
        "Sources/SQLite/Connection+Locks.swift",
        "Sources/GaplessClient/Runner.swift",
        "Sources/GaplessTesting/MemoryNetwork.swift",
        "Sources/GaplessTesting/MemoryTransport.swift",
        "Sources/GaplessTesting/TestGateway.swift",
        "Sources/LoopTransport/LoopTransport.swift",
        "Sources/LoopTransport/SocketClient.swift",
        "Sources/SocketLoop/ServiceLoop.swift",
        "Sources/URLSessionTransport/URLSessionTransport.swift",
        "Sources/Gateway/Loops/WorkerLoop.swift",
        "Sources/Gateway/Loops/WorkerLoops.swift",
        "Sources/Gateway/Serve.swift",
        "Sources/Gateway/SlowReads.swift",
        "Sources/Upstream/Postgres/PostgresListener.swift",
        "Sources/Upstream/Postgres/PostgresWorker.swift",
        "Sources/Upstream/Redis/CommandLink.swift",
        "Sources/Upstream/Redis/FeedLink.swift",
        "Sources/WebSockets/Certificate.swift",
        "Sources/WebSockets/Server.swift",
    ]

    /// The files that call out under a mutex, each with the reason.
    static let callsUnderLock: Set<String> = [
        // `close` returns only once nobody wakes the loop, whose handle ends then.
        "Sources/SocketLoop/Mailbox.swift"
    ]

    static let topLevel: Set<String> = [
        ".ci", ".gitignore", ".swift-format", "LICENSE", "Makefile", "Package.swift", "README.md",
        "Sources", "Tests", "config", "deploy",
    ]

    /// What git and the tools keep beside it; never read.
    static let unread: Set<String> = [".build", ".git", ".swiftpm", "__pycache__"]

    static let columnLimit = 100
}
