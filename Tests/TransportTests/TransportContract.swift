import ClientCore
import Foundation
import GaplessTesting
import Synchronization
import Testing

/// What `ClientTransport` says that each transport keeps, held against each that runs here.
@Suite struct TransportContract {
    enum Kind: CaseIterable, CustomTestStringConvertible {
        case loop, memory
        var testDescription: String { self == .loop ? "libwebsockets" : "memory" }
    }

    /// A started transport, who is told, and who is at the other end.
    struct Rig {
        let transport: any ClientTransport
        let record = Record()
        let peer: any Peer

        init(_ kind: Kind) throws {
            peer = kind == .loop ? try SocketEnd() : MemoryEnd()
            transport = peer.transport()
            record.transport = transport
            try transport.start(record, to: peer.endpoint)
        }

        /// Runs on the loop, and waits for what it gives.
        func perform<Value: Sendable>(
            _ body: @escaping @Sendable (any ClientTransport) -> Value
        ) async -> Value {
            await withCheckedContinuation { continuation in
                transport.post { [transport] in continuation.resume(returning: body(transport)) }
            }
        }

        func until(_ condition: () -> Bool) async throws {
            let end = ContinuousClock.now + .seconds(120)
            while !condition() {
                try #require(ContinuousClock.now < end, "\(record.events)")
                await peer.pass(1)
            }
        }

        /// Connects, and waits for the opening.
        func connect() async throws -> UInt {
            let number = await perform { $0.connect() }
            try await until { record.events.contains(.opened(number)) }
            return number
        }

        func stop() {
            transport.stop()
            #expect(record.nestedCalls == 0)
        }
    }

    @Test(arguments: Kind.allCases) func textsKeepTheirOrderBothWays(_ kind: Kind) async throws {
        let rig = try Rig(kind)
        // Nobody is there to hear it.
        await rig.perform { $0.send(Array("early".utf8)) }
        let number = try await rig.connect()
        let texts = (0..<200).map { "\($0) \(String(repeating: "é", count: $0))" }
        await rig.perform { transport in for text in texts { transport.send(Array(text.utf8)) } }
        rig.peer.say(texts)
        try await rig.until { rig.record.texts.count == 200 && rig.peer.heard.count == 200 }
        #expect(rig.record.texts == texts && rig.peer.heard == texts)
        #expect(rig.record.events.first == .opened(number))
        rig.peer.close(code: 3500)
        try await rig.until { rig.record.events.last == .closed(number, 3500) }
        #expect(rig.record.events.count == 202 && rig.record.endsWithTurn)
        rig.stop()
    }

    @Test(arguments: Kind.allCases) func whatHasNoCloseFrameHasNoCode(_ kind: Kind) async throws {
        let rig = try Rig(kind)
        let first = try await rig.connect()
        rig.peer.hangUp()
        try await rig.until { rig.record.events.last == .closed(first, nil) }
        rig.peer.letIn(false)
        let refused = await rig.perform { $0.connect() }
        #expect(refused > first)
        try await rig.until { rig.record.events.last == .closed(refused, nil) }
        #expect(rig.record.events == [.opened(first), .closed(first, nil), .closed(refused, nil)])
        rig.stop()
    }

    @Test(arguments: Kind.allCases) func nothingIsToldOfWhatWasAbandoned(
        _ kind: Kind
    ) async throws {
        let rig = try Rig(kind)
        let first = try await rig.connect()
        // In the middle of what was on its way.
        rig.record.onText.withLock { $0.call = { $0.abandon() } }
        rig.peer.say((0..<20).map { "old \($0)" })
        try await rig.until { rig.record.texts == ["old 0"] }
        let second = try await rig.connect()
        rig.record.onText.withLock { $0.call = { _ = $0.connect() } }
        rig.peer.say((0..<20).map { "new \($0)" })
        try await rig.until { rig.record.events.last == .opened(second + 1) }
        let expected: [Record.Event] = [
            .opened(first), .text(first, "old 0"), .opened(second), .text(second, "new 0"),
            .opened(second + 1),
        ]
        #expect(rig.record.events == expected)
        rig.stop()
    }

    /// Far more than the sockets between the two take comes while the client is slow with each.
    @Test(arguments: Kind.allCases) func readingNeverStops(_ kind: Kind) async throws {
        let rig = try Rig(kind)
        let number = try await rig.connect()
        let texts = (0..<400).map { "\($0) " + String(repeating: "x", count: 50_000) }
        rig.peer.say(texts)
        try await rig.until { rig.record.texts.count == 400 }
        #expect(rig.record.texts == texts)
        let next = try await rig.connect()
        rig.peer.say(["again"])
        try await rig.until { rig.record.events.last == .text(next, "again") }
        #expect(next != number)
        rig.stop()
    }

    @Test(arguments: Kind.allCases) func theAlarmRingsOnceAndNotBefore(_ kind: Kind) async throws {
        let rig = try Rig(kind)
        let begun = rig.transport.now.monotonic
        await rig.perform { transport in
            transport.setAlarm(milliseconds: 1)
            transport.setAlarm(milliseconds: 40)
        }
        try await rig.until { rig.record.events == [.alarm] }
        #expect(rig.transport.now.monotonic >= begun + 39)
        await rig.perform { transport in
            transport.setAlarm(milliseconds: 10)
            transport.setAlarm(milliseconds: nil)
        }
        await rig.peer.pass(60)
        #expect(rig.record.events == [.alarm] && rig.record.endsWithTurn)
        rig.stop()
    }

    @Test(arguments: Kind.allCases) func jobsRunInTheirOrderAndNoneInAnother(
        _ kind: Kind
    ) async throws {
        let rig = try Rig(kind)
        let ran = Mutex<[Int]>([])
        for number in 0..<500 {
            let transport = rig.transport
            transport.post {
                ran.withLock { $0.append(number) }
                guard number == 100 else { return }
                transport.post { ran.withLock { $0.append(1_000) } }
                // Not before this one has returned.
                ran.withLock { $0.append(-1) }
            }
        }
        await rig.perform { _ in }
        try await rig.until { ran.withLock { $0.count == 502 } }
        let order = ran.withLock { $0 }
        #expect(order.filter { (0..<500).contains($0) } == Array(0..<500))
        let marker = try #require(order.firstIndex(of: -1))
        #expect(order[marker - 1] == 100)
        #expect(try #require(order.firstIndex(of: 1_000)) > marker)
        rig.stop()
    }

    @Test(arguments: Kind.allCases) func afterTheEndThereIsNothing(_ kind: Kind) async throws {
        weak var held: Record?
        let ran = Mutex<[String]>([])
        do {
            let rig = try Rig(kind)
            held = rig.record
            let number = try await rig.connect()
            let transport = rig.transport
            // Nothing is waited for in between: it could not ring before the end.
            transport.post {
                transport.setAlarm(milliseconds: 300)
                ran.withLock { $0.append("before") }
            }
            transport.stop()
            rig.transport.post { ran.withLock { $0.append("after") } }
            rig.peer.say(["late"])
            await rig.peer.pass(400)
            #expect(ran.withLock { $0 } == ["before"])
            #expect(rig.record.events == [.opened(number)])
            // The peer at the other end learns that nobody is here.
            try await rig.until { !rig.peer.isInCompany }
        }
        let end = ContinuousClock.now + .seconds(120)
        while held != nil, ContinuousClock.now < end { try await Task.sleep(for: .milliseconds(2)) }
        #expect(held == nil)
    }
}
