import Testing

/// What keeps the engine in rooms with walls: how large a type may be, how much state it may have,
/// and how many of its files may know each other. `Sources/README.md` shows what this measures.
@Suite struct EngineShapeTests {
    static let lineLimit = 1000
    static let propertyLimit = 14
    static let parameterLimit = 5
    static let cycleLimit = 4

    /// What may be larger, up to where it stands, and why. A figure here only ever falls.
    private struct Exception {
        var lines = EngineShapeTests.lineLimit
        var properties = EngineShapeTests.propertyLimit
        var cycle = EngineShapeTests.cycleLimit
        let reason: String
    }

    private static let exceptions: [String: Exception] = [
        "Engine/Limits": Exception(
            properties: 23, reason: "one for each key of the configuration")
    ]

    private static let files = Repository.sources.filter {
        $0.path.hasPrefix("Sources/Engine/")
    }

    @Test func typesKeepTheirCeilings() {
        let shapes = TypeShape.all(in: Self.files)
        #expect(shapes.count > 20)
        for (name, shape) in shapes {
            let allowed = Self.exceptions[name] ?? Exception(reason: "")
            #expect(shape.lines <= allowed.lines, "\(name): lines")
            #expect(shape.largestCycle <= allowed.cycle, "\(name): files in a cycle")
        }
    }

    @Test func typesHaveFewStoredProperties() {
        let counts = TypeShape.storedProperties(in: Self.files)
        for (name, count) in counts {
            let allowed = Self.exceptions[name] ?? Exception(reason: "")
            #expect(count <= allowed.properties, "\(name): stored properties")
        }
    }

    @Test func functionsTakeFewParameters() {
        let faults = Self.files.flatMap {
            SizeRules.parameters($0, limit: Self.parameterLimit)
        }
        // The engine is made in one place from all that it needs; and the journal notes of a gap
        // who was told it, of which places, since when and why.
        let allowed = [
            "Sources/Engine/Engine.swift", "Sources/Engine/Reports/Journal+Recording.swift",
        ]
        #expect(faults.filter { fault in !allowed.contains { fault.hasPrefix($0) } } == [])
        #expect(faults.count <= allowed.count)
    }

    /// An exception that is none any more goes.
    @Test func exceptionsAreFewAndNeeded() {
        #expect(Self.exceptions.count <= 6)
        let shapes = TypeShape.all(in: Self.files)
        let properties = TypeShape.storedProperties(in: Self.files)
        for (name, allowed) in Self.exceptions {
            let isNeeded =
                shapes[name].map {
                    $0.lines > Self.lineLimit || $0.largestCycle > Self.cycleLimit
                } == true || properties[name] ?? 0 > Self.propertyLimit
            #expect(isNeeded && !allowed.reason.isEmpty, "\(name)")
        }
    }

    // MARK: - Elsewhere

    /// The most that a type has: lines, stored properties, files that all reach each other.
    private struct Size {
        var lines = EngineShapeTests.lineLimit
        var properties = EngineShapeTests.propertyLimit
        var cycle = EngineShapeTests.cycleLimit
    }

    /// The types outside of the engine that are above the ceilings, with what they have today. No
    /// other type may get above them, and these figures only ever fall.
    private static let above: [String: Size] = [
        // Texts of SQL and Lua, in files by what they are about.
        "Postgres/Schema": Size(lines: 3138), "Upstream/RedisScript": Size(lines: 1228),
        // One property for each field of a file or a record.
        "Configuration/Configuration.Limits": Size(properties: 20),
        "Chat/Conversation": Size(properties: 15),
        "Upstream/StoredConversation": Size(properties: 15),
        // What measures and simulates.
        "Simulation/World": Size(properties: 25, cycle: 5),
        "Simulation/ReplicaWorld": Size(lines: 1426, properties: 26, cycle: 10),
        "Simulation/ReplicaScenario": Size(properties: 19),
        "Simulation/Gateway": Size(properties: 21), "Simulation/Origin": Size(cycle: 8),
        "Simulation/ModelLog": Size(cycle: 6),
    ]

    @Test func noTypeElsewhereGetsAboveTheCeilings() {
        let files = Repository.sources.filter { !$0.path.hasPrefix("Sources/Engine/") }
        let shapes = TypeShape.all(in: files)
        let properties = TypeShape.storedProperties(in: files)
        for (name, shape) in shapes {
            let allowed = Self.above[name] ?? Size()
            #expect(shape.lines <= allowed.lines, "\(name): lines")
            #expect(shape.largestCycle <= allowed.cycle, "\(name): files in a cycle")
        }
        for (name, count) in properties {
            #expect(count <= (Self.above[name] ?? Size()).properties, "\(name): stored properties")
        }
        for (name, size) in Self.above {
            let isThere = shapes[name] != nil || properties[name] != nil
            #expect(isThere, "\(name) is gone, and its figures with it")
            let isNeeded =
                shapes[name].map { $0.lines > Self.lineLimit || $0.largestCycle > Self.cycleLimit }
                == true || properties[name] ?? 0 > Self.propertyLimit
            #expect(isNeeded, "\(name) keeps the ceilings: \(size)")
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
