import Chat
import Engine
import JSON
import Ports
import Rules
import Simulation
import Testing
import Wire

/// What a user may ask for and send, over all connections together.
@Suite struct BudgetTests {
    /// How many small requests the session is granted before one is refused.
    private func left(_ rig: Rig, _ session: SessionID, from id: Int = 10_000) -> Int {
        for number in 0..<500 {
            rig.send(session, id + number, "unsubscribeConversations")
            if rig.take(session).first?.errorCode == "rate_limited" { return number }
        }
        return 500
    }

    private func rig(messages: Int = 0, of size: Int = 10, participants: Int = 2) -> Rig {
        let rig = Rig()
        rig.origin.limits.participants = participants
        rig.create("c1", ["ann"] + (1..<participants).map { "user\($0)" })
        let body = String(repeating: "b", count: size)
        rig.write(
            .send(
                conversation: "c1",
                (0..<messages).map { _ in
                    NewMessage(author: "ann", content: MessageContent(body: body))
                }))
        return rig
    }

    /// What the request costs the session's user.
    private func cost(_ rig: Rig, _ method: String, _ params: String) -> Int {
        let session = rig.connect("ann")
        rig.send(session, 2, method, params)
        #expect(rig.take(session).allSatisfy { $0.errorCode == nil })
        // One was `connect`.
        return 399 - left(rig, session)
    }

    @Test func theConnectionsOfAUserShareOneBudget() {
        let rig = Rig()
        let sessions = (0..<4).map { _ in rig.connect("ann") }
        let other = rig.connect("ben")
        for session in sessions.dropLast() {
            for id in 2..<102 { rig.send(session, id, "unsubscribeConversations") }
            #expect(rig.take(session).allSatisfy { $0.errorCode == nil })
        }
        #expect(left(rig, sessions[3]) == 400 - 4 - 300)
        #expect(left(rig, sessions[0]) == 0)
        // To come back is no way to a new one.
        for session in sessions { rig.engine.closed(session) }
        rig.pass(0)
        #expect(left(rig, rig.connect("ann")) == 0)
        #expect(left(rig, other) == 399)
        rig.pass(2)
        #expect(left(rig, rig.connect("ann")) > 390)
    }

    /// A thousand of them are 170 KB as well, two times 64 KiB more than the first.
    @Test(arguments: [(1, 1), (100, 1), (101, 2), (1000, 12)])
    func aPageCostsByItsMessages(limit: Int, expected: Int) {
        let rig = rig(messages: 1000)
        // What is asked for and not there costs nothing.
        #expect(cost(rig, "fetchMessages", #""conversation":"c1","limit":\#(limit)"#) == expected)
    }

    @Test func whatIsAskedForAndNotThereCostsNothing() {
        let rig = rig(messages: 3)
        #expect(cost(rig, "fetchMessages", #""conversation":"c1","limit":1000"#) == 1)
    }

    @Test func anAnswerCostsByItsBytes() {
        // 20 messages of 30 KB are more than nine times 64 KiB.
        let rig = rig(messages: 20, of: 30_000)
        #expect(cost(rig, "fetchMessages", #""conversation":"c1","limit":20"#) == 1 + 9)
    }

    @Test func aChangeOfMuchPeopledConversationsCostsByThePeople() {
        let rig = rig(participants: 1001)
        #expect(cost(rig, "updateConversation", #""conversation":"c1","title":"t""#) == 1 + 10)
    }

    @Test(arguments: [(1000, 1), (1001, 2), (5000, 1 + 4)])
    func aPageOfParticipantsCostsByThoseThatItPasses(offset: Int, expected: Int) {
        let rig = rig(participants: 5001)
        let page = #""conversation":"c1","limit":1,"offset":\#(offset)"#
        #expect(cost(rig, "fetchParticipants", page) == expected)
    }

    /// As its creation does: each who took part is looked up, and told.
    @Test func theEndOfAMuchPeopledConversationCostsByThePeople() {
        let rig = rig(participants: 1001)
        rig.write(.addAdmins(conversation: "c1", ["ann"]))
        #expect(cost(rig, "deleteConversation", #""conversation":"c1""#) == 1 + 10)
    }

    @Test func noRequestCostsMoreThanAQuarterOfTheBurst() {
        for method in ["fetchConversation", "fetchParticipants"] {
            let rig = rig(participants: 50_000)
            #expect(cost(rig, method, #""conversation":"c1""#) == 100)
        }
    }

    @Test func whatIsAskedForInOneBreathIsPaidInFull() {
        let rig = rig(participants: 50_000)
        let session = rig.connect("ann")
        for id in 2..<22 {
            rig.receive(
                session,
                #"{"id":\#(id),"method":"fetchConversation","params":{"conversation":"c1"}}"#)
        }
        rig.turn()
        #expect(rig.take(session).filter { $0.id != nil }.allSatisfy { $0.errorCode == nil })
        // 20 times 100, of which 400 were there.
        rig.pass(7)
        #expect(left(rig, session) == 0)
        rig.pass(2)
        #expect(left(rig, session, from: 20_000) > 0)
    }

    @Test func aSmallResumeCostsOne() throws {
        let rig = rig(messages: 300, of: 2000)
        let log = try #require(rig.origin.log("c1"))
        let runs = (0..<20).map { "[\(2 * $0 + 1),\(2 * $0 + 1)]" }.joined(separator: ",")
        let head = log.head(asOf: 101)
        let place = #""epoch":"\#(head.epoch)","seq":\#(head.seq),"floor":1"#
        let text = #"{\#(place),"rev":101,"mark":"\#(head.mark)"}"#
        let have = #"{"head":\#(text),"asOf":101,"runs":[\#(runs)]}"#
        #expect(
            cost(rig, "subscribeMessages", #""conversation":"c1","limit":100,"have":\#(have)"#) == 1
        )
    }

    /// The case that the defaults are made for: nobody who only comes back is refused.
    @Test func fiveDevicesWithFiftySubscriptionsEachComeBackUnrefused() {
        let rig = Rig()
        for number in 0..<50 {
            rig.create("c\(number)", ["ann", "ben"])
            rig.say("one", "two", to: "c\(number)")
        }
        let devices = (0..<5).map { _ in rig.open() }
        for device in devices {
            rig.receive(device, #"{"id":1,"method":"connect","params":{"user":"ann"}}"#)
            rig.receive(device, #"{"id":2,"method":"subscribeConversations","params":{}}"#)
            for number in 0..<50 {
                let head = #"{"epoch":"e","seq":1,"rev":2,"mark":"m","floor":1}"#
                let have = #"{"head":\#(head),"asOf":2,"runs":[[1,1]]}"#
                let params = #"{"conversation":"c\#(number)","have":\#(have)}"#
                rig.receive(
                    device,
                    #"{"id":\#(number + 10),"method":"subscribeMessages","params":\#(params)}"#)
            }
        }
        rig.turn()
        for device in devices {
            let replies = rig.take(device).filter { $0.id != nil }
            #expect(replies.count == 52 && replies.allSatisfy { $0.errorCode == nil })
        }
    }

    @Test func whoSendsTooManyBytesIsReadLaterOnAllConnectionsAndRefusedNothing() {
        var limits = Limits()
        limits.bytesPerSecond = 10_000
        let rig = Rig(limits)
        let sessions = [rig.connect("ann"), rig.connect("ann")]
        let other = rig.connect("ben")
        let padding = String(repeating: " ", count: 6000)
        for id in 2...3 {
            rig.receive(
                sessions[0],
                #"{"id":\#(id),\#(padding)"method":"unsubscribeConversations","params":{}}"#)
        }
        rig.turn()
        #expect(rig.take(sessions[0]).map(\.errorCode) == [nil, nil])
        let throttled = rig.takeThrottles()
        #expect(Set(throttled.map(\.0)) == Set(sessions) && throttled.allSatisfy(\.1))
        rig.send(other, 2, "unsubscribeConversations")
        #expect(rig.take(other).map(\.errorCode) == [nil])
        rig.now.milliseconds += 1000
        rig.engine.tick(at: rig.now)
        rig.turn()
        let released = rig.takeThrottles()
        #expect(Set(released.map(\.0)) == Set(sessions) && released.allSatisfy { !$0.1 })
    }

    @Test func limitsThatAreReadAgainHoldFromThenOn() {
        var limits = Limits()
        let rig = Rig(limits)
        let session = rig.connect("ann")
        limits.requestsPerSecond = 5
        limits.clients.sends = false
        rig.engine.adopt(limits)
        #expect(left(rig, session) == 10)
        limits.requestsPerSecond = 0
        rig.engine.adopt(limits)
        #expect(left(rig, session, from: 20_000) == 500)
        rig.send(session, 5, "sendMessage", #""conversation":"c1","body":"b""#)
        #expect(rig.take(session).map(\.errorCode) == ["forbidden"])
    }
}
