/// The tables that the rules of this house go by. Whoever adds a target, a C library, a file with
/// unsafe pointers or a name at the top level writes it here, and thereby says so to the reader.
enum House {
    /// The targets, lowest row first. Imports point down; never within a row.
    static let rows: [[String]] = [
        ["CCrypto", "CCurl", "CSQLite", "CWebSockets"],
        ["JSON"],
        ["Chat"],
        ["Wire"],
        ["Engine"],
        ["Crypto", "WebSockets"],
        ["Cache"],
        ["Upstream"],
        ["Gateway"],
        ["gapless"],
    ]

    /// The targets without clock, thread, file or socket: the standard library and lower rows only.
    static let pure: Set<String> = ["JSON", "Chat", "Wire", "Engine"]

    /// What the shell may use of the system.
    static let systemModules: Set<String> = ["Glibc", "Synchronization"]

    /// The one target that may import a C module.
    static let doors = [
        "CCrypto": "Crypto", "CCurl": "Gateway", "CSQLite": "Cache", "CWebSockets": "WebSockets",
    ]

    /// The files in which unsafe pointers stay.
    static let pointerFiles: Set<String> = [
        "Sources/Cache/Connection.swift",
        "Sources/Cache/Statement.swift",
    ]

    /// The files with a type that owns a thread and is therefore `@unchecked Sendable`.
    static let threadOwners: Set<String> = [
        "Sources/Cache/Writer.swift",
        "Sources/WebSockets/ServiceLoop.swift",
    ]

    static let topLevel: Set<String> = [
        ".ci", ".gitignore", ".swift-format", "LICENSE", "Makefile", "Package.swift", "README.md",
        "Sources", "Tests", "config", "deploy",
    ]

    /// What git and the tools keep beside it; never read.
    static let unread: Set<String> = [".build", ".git", ".swiftpm", "__pycache__"]

    static let fileLimit = 400
    static let functionLimit = 60
    static let columnLimit = 100
}
