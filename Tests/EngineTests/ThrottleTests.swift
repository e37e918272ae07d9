import Chat
import Engine
import JSON
import Simulation
import Testing

/// A client that goes on asking when it is refused.
@Suite struct ThrottleTests {
    @Test func whoGoesOnAskingIsNotReadForAMoment() {
        let rig = Rig()
        let session = rig.connect("ann")
        let other = rig.connect("ben")
        // 400 at once, one of which was `connect`, and 1,000 that are refused.
        for id in 1..<1400 { rig.receive(session, #"{"id":\#(id),"method":"ping"}"#) }
        rig.turn()
        #expect(rig.takeThrottles().isEmpty)
        for id in 1400..<1410 { rig.receive(session, #"{"id":\#(id),"method":"ping"}"#) }
        rig.turn()
        // The engine still answers what was read before.
        #expect(rig.take(session).map(\.id) == Array(1..<1410))
        let throttled = rig.takeThrottles()
        #expect(throttled.map(\.0) == [session] && throttled.map(\.1) == [true])
        rig.send(other, 2, "unsubscribeConversations")
        #expect(rig.take(other).map(\.errorCode) == [nil])
        rig.now.milliseconds += 200
        rig.engine.tick(at: rig.now)
        rig.turn()
        let released = rig.takeThrottles()
        #expect(released.map(\.0) == [session] && released.map(\.1) == [false])
        rig.send(session, 1410, "unsubscribeConversations")
        #expect(rig.take(session).map(\.errorCode) == [nil])
    }

    /// A `have` of a thousand runs costs milliseconds: who has two of them under way is not read,
    /// so that no more of them are decoded than are answered.
    @Test func whoWaitsForAnswersThatCostMuchIsNotRead() throws {
        let rig = Rig()
        let session = rig.connect("ann")
        rig.isHoldingReads = true
        let runs = (0..<1000).map { "[\(2 * $0 + 1),\(2 * $0 + 1)]" }.joined(separator: ",")
        let head = #"{"epoch":"e","seq":2000,"rev":2000,"mark":"m","floor":1}"#
        for (id, conversation) in [(7, "a"), (8, "b")] {
            #expect(rig.takeThrottles().isEmpty)
            let have = #"{"head":\#(head),"asOf":2000,"runs":[\#(runs)]}"#
            let params = #"{"conversation":"\#(conversation)","have":\#(have)}"#
            rig.receive(
                session, #"{"id":\#(id),"method":"subscribeMessages","params":\#(params)}"#)
        }
        rig.turn()
        let throttled = rig.takeThrottles()
        #expect(throttled.map(\.0) == [session] && throttled.map(\.1) == [true])
        rig.answerReads()
        #expect(Set(rig.take(session).map(\.id)) == [7, 8])
        let released = rig.takeThrottles()
        #expect(released.map(\.0) == [session] && released.map(\.1) == [false])
    }

    /// A hundred answers of 32 KiB are what a session may hold besides its soft limit: who has as
    /// many writes under way is not read until some are answered, and then is answered all.
    @Test func whoWaitsForManyMessagesOrRecordsIsNotRead() {
        let writes = [
            ("sendMessage", #"{"conversation":"c","message":{"body":"text"}}"#),
            ("editMessage", #"{"conversation":"c","id":"m","body":"text"}"#),
            ("deleteMessage", #"{"conversation":"c","id":"m"}"#),
            ("createConversation", #"{"participants":["ben"]}"#),
            ("updateConversation", #"{"conversation":"c","title":"text"}"#),
            ("addParticipants", #"{"conversation":"c","users":["ben"]}"#),
            ("removeParticipants", #"{"conversation":"c","users":["ben"]}"#),
            ("addAdmins", #"{"conversation":"c","users":["ben"]}"#),
            ("removeAdmins", #"{"conversation":"c","users":["ben"]}"#),
        ]
        for (method, params) in writes {
            let rig = Rig()
            let session = rig.connect("ann")
            rig.isHoldingWrites = true
            for id in 1...100 {
                rig.turn()
                #expect(rig.takeThrottles().isEmpty, "\(method) \(id)")
                rig.receive(
                    session, #"{"id":\#(id),"method":"\#(method)","params":\#(params)}"#)
            }
            rig.turn()
            let throttled = rig.takeThrottles()
            #expect(throttled.map(\.0) == [session] && throttled.map(\.1) == [true], "\(method)")
            rig.performWrites(100)
            #expect(Set(rig.take(session).map(\.id)) == Set(1...100), "\(method)")
            let released = rig.takeThrottles()
            #expect(released.map(\.0) == [session] && released.map(\.1) == [false], "\(method)")
        }
    }
}
