import Testing

/// What keeps the program in rooms with walls: how large a type may be, how much state it may have,
/// and how many of its files may know each other. `Sources/README.md` shows what this measures.
@Suite struct TypeShapeTests {
    static let lineLimit = 1000
    static let propertyLimit = 14
    static let parameterLimit = 5
    static let cycleLimit = 4

    /// What may be larger, up to where it stands, and why. A figure here only ever falls.
    private struct Exception {
        var lines = TypeShapeTests.lineLimit
        var properties = TypeShapeTests.propertyLimit
        let reason: String
    }

    private static let exceptions: [String: Exception] = [
        "Engine/Limits": Exception(
            properties: 23, reason: "one property for each key of the configuration"),
        "Configuration/Configuration.Limits": Exception(
            properties: 20, reason: "one property for each key of the configuration"),
        "Chat/Conversation": Exception(
            properties: 15, reason: "one property for each field of the record"),
        "Upstream/StoredConversation": Exception(
            properties: 15, reason: "one property for each field of the record"),
        "Postgres/Schema": Exception(
            lines: 3138, reason: "texts of SQL, in files by what they are about"),
        "Upstream/RedisScript": Exception(
            lines: 1310, reason: "texts of Lua, in files by what they are about"),
    ]

    /// Files with a function that takes more: one parameter for each field of a frame or a message;
    /// what an event proves; and of a gap who was told it, of which places, since when and why.
    private static let wide = [
        "Sources/Wire/EncodedMessage+JSON.swift", "Sources/Wire/JSONWriter+Wire.swift",
        "Sources/Wire/ServerFrame.swift", "Sources/Chat/Timeline+Deltas.swift",
        "Sources/Engine/Reports/Journal+Recording.swift",
    ]

    private static let shapes = TypeShape.all(in: Repository.sources)
    private static let properties = TypeShape.storedProperties(in: Repository.sources)

    @Test func typesKeepTheirCeilings() {
        #expect(Self.shapes.count > 500)
        for (name, shape) in Self.shapes {
            let allowed = Self.exceptions[name]?.lines ?? Self.lineLimit
            #expect(shape.lines <= allowed, "\(name): lines")
            #expect(shape.largestCycle <= Self.cycleLimit, "\(name): files in a cycle")
        }
    }

    @Test func typesHaveFewStoredProperties() {
        for (name, count) in Self.properties {
            let allowed = Self.exceptions[name]?.properties ?? Self.propertyLimit
            #expect(count <= allowed, "\(name): stored properties")
        }
    }

    @Test func functionsTakeFewParameters() {
        let faults = Repository.sources.flatMap {
            SizeRules.parameters($0, limit: Self.parameterLimit)
        }
        #expect(faults.filter { fault in !Self.wide.contains { fault.hasPrefix($0) } } == [])
        for file in Self.wide { #expect(faults.contains { $0.hasPrefix(file) }, "\(file)") }
    }

    /// An exception that is none any more goes.
    @Test func exceptionsAreFewAndNeeded() {
        #expect(Self.exceptions.count <= 6)
        for (name, allowed) in Self.exceptions {
            let isNeeded =
                Self.shapes[name]?.lines ?? 0 > Self.lineLimit
                || Self.properties[name] ?? 0 > Self.propertyLimit
            #expect(isNeeded && !allowed.reason.isEmpty, "\(name)")
        }
    }

    // MARK: - The measure itself

    private static let sample = [
        Repository.File(
            path: "Sources/Engine/A.swift",
            text: """
                final class A {
                    struct B {
                        let x: Int
                    }
                    enum C { case one }
                    private(set) var one = 1
                    let two: Int
                    let three = [1].map { $0 }
                    static let four = 4
                    var five: Int { one }
                    var six = { 6 }()
                    func first(_ a: Int, b: [Int: Int], c: (Int, Int), d: Int, e: Int, f: Int) {
                        var local = b
                        second()
                    }
                }
                """),
        Repository.File(
            path: "Sources/Engine/A+Second.swift",
            text: "extension A {\n    func second() { first() }\n}"),
        Repository.File(
            path: "Sources/Engine/A+Third.swift",
            text: "extension A {\n    func third() { first() }\n}"),
    ]

    @Test func theMeasureCountsWhatItSays() {
        let shape = TypeShape.all(in: Self.sample)["Engine/A"]
        #expect(shape?.lines == 16 + 3 + 3)
        // Nobody uses the third.
        #expect(shape?.largestCycle == 2)
        let counts = TypeShape.storedProperties(in: Self.sample)
        #expect(counts["Engine/A"] == 4 && counts["Engine/A.B"] == 1 && counts["Engine/A.C"] == 0)
        #expect(SizeRules.parameters(Self.sample[0], limit: 5).count == 1)
        #expect(SizeRules.parameters(Self.sample[0], limit: 6) == [])
    }
}
