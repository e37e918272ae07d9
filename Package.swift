// swift-tools-version: 6.2
import PackageDescription

// Every target is built the same way. The upcoming features make two things visible that are
// otherwise silent: an existential (SE-0335) and a member that comes from a module which this file
// does not import (SE-0444).
let house: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

/// - Parameters:
///   - linux: What it needs on Linux only.
///   - apple: What it needs on Apple's platforms only.
func core(
    _ name: String, _ dependencies: [Target.Dependency] = [], linux: [String] = [],
    apple: [String] = []
) -> Target {
    let linux = linux.map {
        Target.Dependency.target(name: $0, condition: .when(platforms: [.linux]))
    }
    let apple = apple.map {
        Target.Dependency.target(
            name: $0, condition: .when(platforms: [.macOS, .iOS, .tvOS, .watchOS, .visionOS]))
    }
    return .target(name: name, dependencies: dependencies + linux + apple, swiftSettings: house)
}

/// What only measures, all of it in one folder.
func measuring(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .target(
        name: name, dependencies: dependencies, path: "Sources/Measuring/\(name)",
        swiftSettings: house)
}

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .testTarget(name: name, dependencies: dependencies, swiftSettings: house)
}

/// What the environment of a build says of it, as a definition for C.
func stated(_ names: String...) -> [CSetting] {
    names.compactMap { name in
        Context.environment[name].map { .define(name, to: "\"\($0)\"") }
    }
}

let package = Package(
    name: "Gapless",
    // The client's: `Mutex` needs macOS 15 and iOS 18, a deinit that is isolated to an actor 15.4
    // and 18.4. Spans work on all of them; `InlineArray` and the spans of texts would ask for 26.
    platforms: [
        .macOS("15.4"), .iOS("18.4"), .tvOS("18.4"), .watchOS("11.4"), .visionOS("2.4"),
    ],
    products: [
        .executable(name: "gapless", targets: ["gapless"]),
        .library(name: "Chat", targets: ["Chat"]),
        .library(name: "GaplessClient", targets: ["GaplessClient", "GaplessFoundation"]),
        .library(name: "GaplessFoundation", targets: ["GaplessFoundation"]),
        .library(name: "GaplessTesting", targets: ["GaplessTesting"]),
    ],
    targets: [
        // MARK: C libraries, each a module map and a shim
        .systemLibrary(
            name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        .systemLibrary(
            name: "CWebSockets", pkgConfig: "libwebsockets",
            providers: [.apt(["libwebsockets-dev", "libwebsockets-evlib-ev", "libev-dev"])]),
        .systemLibrary(name: "CCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(
            name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(name: "CLinux"),
        .target(name: "CRelease", cSettings: stated("BUILD_VERSION", "BUILD_COMMIT")),
        .target(name: "CScripts", exclude: ["lua", "sql"]),
        // Without pkg-config: it would say -D_FILE_OFFSET_BITS, which is a matter of the compiler.
        .systemLibrary(name: "CHiredis", providers: [.apt(["libhiredis-dev"])]),
        .systemLibrary(name: "CPostgres", providers: [.apt(["libpq-dev"])]),

        // MARK: the pure core: no clock, thread, file, socket or Foundation
        core("JSON"),
        core("Chat", ["JSON"]),
        core("Wire", ["Chat", "JSON"]),
        core("Ports", ["Wire", "Chat", "JSON"]),
        core("Rules", ["Ports", "Wire", "Chat", "JSON"]),
        core("Engine", ["Rules", "Ports", "Wire", "Chat", "JSON"]),
        core("ClientCore", ["Wire", "Chat", "JSON"]),
        core("Simulation", ["Engine", "Rules", "Ports", "Wire", "Chat", "JSON"]),

        // MARK: the shell: what owns threads, files and sockets
        core("Crypto", ["CCrypto", "Chat", "JSON"]),
        core("SQLite", linux: ["CSQLite"]),
        core("Postgres", ["CPostgres", "CScripts", "JSON"]),
        core("Cache", ["SQLite", "Ports", "Wire", "Chat", "JSON"]),
        core("SocketLoop", ["CWebSockets"]),
        core("WebSockets", ["SocketLoop", "CWebSockets", "Ports", "Wire", "JSON"]),
        core(
            "Upstream",
            [
                "Cache", "SQLite", "Postgres", "Crypto", "Rules", "Ports", "Wire", "Chat", "JSON",
                "CHiredis", "CScripts",
            ]),
        core("Configuration", ["Postgres", "Upstream", "Crypto", "Engine", "Rules", "Ports"]),
        core(
            "Gateway",
            [
                "Configuration", "Postgres", "Upstream", "Cache", "SQLite", "WebSockets", "Crypto",
                "Engine", "Rules", "Ports", "Wire", "Chat", "JSON", "CRelease",
            ]),

        // MARK: the command line: what somebody types, above what it starts
        core(
            "Commands",
            [
                "Gateway", "Configuration", "Postgres", "Upstream", "Cache", "SQLite", "Crypto",
                "Engine", "Rules", "Wire", "Chat", "JSON", "Bench", "CCurl",
            ]),

        // MARK: the client library
        core("ClientSystem", ["ClientCore", "Chat"]),
        core("LoopTransport", ["SocketLoop", "ClientSystem", "ClientCore", "CWebSockets"]),
        core("URLSessionTransport", ["ClientSystem", "ClientCore"]),
        core(
            "GaplessClient", ["ClientSystem", "ClientCore", "SQLite", "Wire", "Chat", "JSON"],
            linux: ["LoopTransport"], apple: ["URLSessionTransport"]),
        core("GaplessFoundation", ["GaplessClient", "Chat", "JSON"]),
        core("GaplessTesting", ["GaplessClient", "ClientCore", "Wire", "Chat", "JSON"]),

        .executableTarget(
            name: "gapless-example", dependencies: ["GaplessClient"], swiftSettings: house),
        .executableTarget(
            name: "gapless-bot", dependencies: ["GaplessClient"], swiftSettings: house),

        // MARK: the program
        .executableTarget(name: "gapless", dependencies: ["Commands"], swiftSettings: house),

        // MARK: the load generator, alone and as the command `bench`; it shares no code with what
        // it measures but the reading of JSON
        measuring("Bench", ["JSON", "CLinux"]),
        // The cache without a gateway around it, beside plain C that does the same.
        .target(
            name: "Recorder", dependencies: ["CSQLite"], path: "Sources/Measuring/Recorder"),
        measuring(
            "CacheBench",
            [
                "Bench", "Recorder", "Cache", "SQLite", "Engine", "Ports", "Wire", "Chat", "JSON",
            ]),
        .executableTarget(
            name: "gapless-bench", dependencies: ["Bench", "CacheBench"],
            path: "Sources/Measuring/gapless-bench", swiftSettings: house),

        // What a fan-out and what the cache could cost at the least, to be measured beside them.
        .executableTarget(
            name: "gapless-limit", dependencies: ["CSQLite"],
            path: "Sources/Measuring/gapless-limit"),
        .executableTarget(
            name: "gapless-plain", dependencies: ["CSQLite"],
            path: "Sources/Measuring/gapless-plain"),
        // What the embedded log costs with nothing around it, for tools that count.
        .executableTarget(
            name: "gapless-sends", dependencies: ["Upstream", "Cache", "SQLite", "Ports", "Wire"],
            path: "Sources/Measuring/gapless-sends", swiftSettings: house),

        // MARK: tests
        // The program with a `malloc` that counts.
        .target(name: "Counting", path: "Tests/Counting"),
        .executableTarget(
            name: "gapless-counted", dependencies: ["Commands", "Counting"], path: "Tests/Counted",
            swiftSettings: house),
        .target(
            name: "TestSupport", dependencies: ["CLinux"], path: "Tests/TestSupport",
            swiftSettings: house),
        // What must hold for every input from outside, for libFuzzer and for `FuzzTests`.
        .target(
            name: "FuzzTargets",
            dependencies: [
                "Commands", "Gateway", "Configuration", "Upstream", "WebSockets", "Crypto",
                "Engine", "Rules", "Ports", "Wire", "Chat",
                "JSON",
            ],
            path: "Tests/FuzzTargets", swiftSettings: house),
        // The rules of a log as a table of cases, for each that keeps one.
        .target(
            name: "RuleCases", dependencies: ["Simulation", "Rules", "Ports", "Wire", "JSON"],
            path: "Tests/RuleCases", swiftSettings: house),
        tests("FuzzTests", ["FuzzTargets"]),
        tests("TestSupportTests", ["TestSupport"]),
        tests("HouseTests", []),
        tests(
            "BenchTests",
            ["Bench", "CacheBench", "TestSupport", "gapless", "gapless-counted", "gapless-plain"]),
        tests("GatewayTests", ["TestSupport", "gapless"]),
        tests("SoakTests", ["Bench", "TestSupport", "gapless"]),
        tests("FaultTests", ["TestSupport", "Postgres", "gapless", "CSQLite"]),
        tests("WebSocketsTests", ["WebSockets", "Ports", "Wire", "TestSupport"]),
        tests("CryptoTests", ["Crypto", "Chat", "JSON", "TestSupport"]),
        tests(
            "ConfigurationTests",
            [
                "Commands", "Gateway", "Configuration", "Postgres", "Crypto", "Engine", "Ports",
                "Rules",
                "Chat", "JSON", "TestSupport",
            ]),
        tests(
            "OperationsTests",
            [
                "Gateway", "Configuration", "Cache", "Engine", "Ports", "Rules", "WebSockets",
                "Wire",
                "Chat", "TestSupport", "gapless",
            ]),
        tests("JSONTests", ["JSON", "TestSupport"]),
        tests("WireTests", ["Wire", "Chat", "JSON", "TestSupport"]),
        tests("ChatTests", ["Chat", "JSON", "TestSupport"]),
        tests(
            "ClientCoreTests",
            ["ClientCore", "Simulation", "Engine", "Ports", "Wire", "Chat", "JSON", "TestSupport"]),
        tests(
            "GaplessClientTests",
            [
                "GaplessClient", "GaplessFoundation", "GaplessTesting", "ClientCore", "Wire",
                "SQLite", "Chat", "JSON", "TestSupport", "gapless", "gapless-bot",
                "gapless-example",
            ]),
        tests(
            "TransportTests",
            [
                "GaplessClient", "GaplessTesting", "LoopTransport", "URLSessionTransport",
                "WebSockets", "ClientCore", "Chat", "JSON", "TestSupport",
            ]),
        tests("GatewayContractTests", ["TestSupport", "gapless"]),
        tests("EngineTests", ["Simulation", "Engine", "Rules", "Ports", "Wire", "Chat", "JSON"]),
        tests("SimulationTests", ["Simulation", "Engine", "Ports", "Wire", "Chat", "JSON"]),
        tests(
            "RedisTests",
            [
                "RuleCases", "Upstream", "Cache", "Crypto", "Rules", "Ports", "Wire", "Chat",
                "JSON", "TestSupport",
            ]),
        tests(
            "PostgresTests",
            [
                "RuleCases", "Postgres", "Upstream", "Cache", "Crypto", "Rules", "Ports", "Wire",
                "Chat", "JSON", "Simulation", "TestSupport",
            ]),
        tests("CacheTests", ["Cache", "SQLite", "Ports", "Wire", "Chat", "JSON", "TestSupport"]),
        tests(
            "UpstreamTests",
            [
                "RuleCases", "Upstream", "Cache", "Crypto", "SQLite", "Engine", "Rules", "Ports",
                "Wire", "Chat", "JSON", "Simulation", "TestSupport",
            ]),
    ]
)

// libFuzzer brings the entry of this program, and is linked in by `--sanitize=fuzzer` only: no
// other build can have it. See `Tests/fuzz`.
if Context.environment["GAPLESS_FUZZER"] != nil {
    package.targets += [
        .executableTarget(
            name: "gapless-fuzz", dependencies: ["FuzzTargets"], path: "Tests/Fuzzer",
            swiftSettings: house + [.unsafeFlags(["-parse-as-library"])])
    ]
}
