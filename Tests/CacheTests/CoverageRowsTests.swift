import Cache
import Chat
import Ports
import SQLite
import TestSupport
import Testing

/// What a cache says that it holds, against a plain table of places.
@Suite struct CoverageRowsTests {
    private let scratch: Scratch
    private let store: Store
    private let connection: Connection

    init() throws {
        scratch = try Scratch()
        store = try scratch.store(origin: "redis")
        connection = try Connection(path: scratch.file(), access: .readWrite)
    }

    @Test func runsOfOneRevJoinAndRunsOfTwoStayApart() throws {
        let rows = try CoverageRows(connection)
        try rows.hold(1, 1, 5, asOf: 7)
        try rows.hold(1, 6, 9, asOf: 7)
        try rows.hold(1, 10, 12, asOf: 8)
        try rows.hold(2, 1, 100, asOf: 7)
        #expect(
            try rows.runs(1) == [
                .init(Coverage.Run(1, 9), asOf: 7), .init(Coverage.Run(10, 12), asOf: 8),
            ])
        try rows.drop(1, 3, 10)
        #expect(
            try rows.runs(1) == [
                .init(Coverage.Run(1, 2), asOf: 7), .init(Coverage.Run(11, 12), asOf: 8),
            ])
    }

    /// The file may be damaged in a way that SQLite does not see.
    @Test func whatIsNoRunIsNotHeld() throws {
        let rows = try CoverageRows(connection)
        try rows.hold(1, 4, 6, asOf: 7)
        for run in ["9, 3", "-5, -1", "20, 9223372036854775807"] {
            try connection.execute("INSERT INTO coverage VALUES (1, \(run), 7)")
        }
        #expect(try rows.runs(1) == [.init(Coverage.Run(4, 6), asOf: 7)])
    }

    @Test func runsThatStandAtOnePlaceAreOneAsOfTheEarliest() throws {
        let rows = try CoverageRows(connection)
        try rows.hold(1, 1, 5, asOf: 4, standing: 5)
        try rows.hold(1, 6, 7, asOf: 8, standing: 5)
        try rows.hold(1, 8, 9, asOf: 6, standing: 5)
        #expect(
            try rows.runs(1) == [
                .init(Coverage.Run(1, 5), asOf: 4), .init(Coverage.Run(6, 9), asOf: 6),
            ])
        try rows.hold(1, 7, 7, asOf: 9, standing: 4)
        #expect(try rows.runs(1) == [.init(Coverage.Run(1, 9), asOf: 4)])
        try rows.hold(1, 0, 10, asOf: 12, standing: 4)
        #expect(
            try rows.runs(1) == [.init(Coverage.Run(0, 10), asOf: 12)],
            "what was known before of the same places counts no more")
    }

    @Test func holdingAndDroppingIsWhatATableOfPlacesSays() throws {
        try connection.execute("BEGIN")
        for seed in UInt64(0)..<200 {
            try connection.execute("DELETE FROM coverage")
            try compare(seed: seed)
        }
        try connection.execute("ROLLBACK")
    }

    private func compare(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let rows = try CoverageRows(connection)
        var table: [Int: Int] = [:]
        for step in 0..<40 {
            let low = Int.random(in: 1...40, using: &random)
            let high = low + Int.random(in: -1...12, using: &random)
            let asOf = Int.random(in: 1...3, using: &random)
            if Int.random(in: 0..<3, using: &random) == 0 {
                try rows.drop(9, low, high)
                for place in low..<max(low, high + 1) { table[place] = nil }
            } else {
                try rows.hold(9, low, high, asOf: asOf)
                for place in low..<max(low, high + 1) { table[place] = asOf }
            }
            let stored = try rows.runs(9)
            var said: [Int: Int] = [:]
            for run in stored {
                for place in run.run.low...run.run.high {
                    #expect(said.updateValue(run.asOf, forKey: place) == nil, "seed \(seed)")
                }
            }
            #expect(said == table, "seed \(seed), step \(step)")
            for (a, b) in zip(stored, stored.dropFirst()) where a.asOf == b.asOf {
                #expect(a.run.high + 1 < b.run.low, "seed \(seed), step \(step)")
            }
        }
    }
}
