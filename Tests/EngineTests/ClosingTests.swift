import Engine
import Testing
import Wire

/// A session that the gateway closes begins nothing more, whatever it still waits for.
@Suite struct ClosingTests {
    @Test func anAnswerAfterTheCloseBeginsNoSubscription() {
        let rig = Rig()
        rig.create()
        rig.say("one", "two")
        let ann = rig.connect("ann")
        rig.isHoldingReads = true
        rig.send(ann, 1, "subscribeMessages", #""conversation":"c1","limit":50"#)
        #expect(rig.engine.disconnect(user: "ann", mayComeBack: false) == 1)
        // The conversation is loaded, and then its page.
        for _ in 1...3 { rig.answerReads() }
        #expect(rig.engine.report.strandedSubscriptions == 0)
        rig.isHoldingReads = false
        rig.say("three")
        #expect(
            rig.engine.report.conversationAccounting().allSatisfy { $0.accounting.accepted == 0 })
    }

    /// The same test finds a subscription of a session that stays.
    @Test func anAnswerBeforeTheCloseBeginsOne() {
        let rig = Rig()
        rig.create()
        let ann = rig.connect("ann")
        rig.isHoldingReads = true
        rig.send(ann, 1, "subscribeMessages", #""conversation":"c1","limit":50"#)
        for _ in 1...3 { rig.answerReads() }
        rig.isHoldingReads = false
        rig.say("one")
        let accepted = rig.engine.report.conversationAccounting().map(\.accounting.accepted)
        #expect(accepted == [1])
    }
}
