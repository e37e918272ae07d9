import Chat
import Engine
import JSON
import Ports
import Simulation
import Testing
import Wire

/// Each method that a frame can name comes to an answer, and so does a question that was answered
/// with something else.
@Suite struct MethodTests {
    private static func params(_ method: Method) -> String {
        switch method {
        case .refresh: #""token":"ann 100""#
        case .editMessage: #""conversation":"c1","id":"none","body":"b""#
        case .deleteMessage: #""conversation":"c1","id":"none""#
        case .react: #""conversation":"c1","id":"none","key":"+1","on":true"#
        case .fetchReactions: #""conversation":"c1","id":"none""#
        case .fetchOwnReactions: #""conversation":"c1","after":0,"before":9"#
        case .fetchMentions: #""conversation":"c1","after":0"#
        case .sendMessage: #""conversation":"c1","body":"b""#
        case .markRead: #""conversation":"c1","seq":1"#
        case .typing: #""conversation":"c1","state":"begin""#
        case .setPresence: #""state":"away""#
        case .watchPresence: #""watch":[{"conversation":"c1"}]"#
        case .addParticipants, .addAdmins, .removeAdmins: #""conversation":"c1","users":["ben"]"#
        case .removeParticipants: #""conversation":"c1","users":["ben"]"#
        case .createConversation: ""
        case .connect: #""user":"ann""#
        case .subscribeConversations, .unsubscribeConversations, .fetchConversations: ""
        case .subscribeMessages, .unsubscribeMessages, .fetchConversation, .fetchMessages,
            .fetchParticipants, .findBoundaries, .updateConversation, .deleteConversation,
            .leaveConversation:
            #""conversation":"c1""#
        }
    }

    @Test(arguments: Method.allCases) func isAnsweredOnce(_ method: Method) {
        let rig = Rig()
        rig.write(.put(id: "c1", .init(participants: ["ann", "ben"], admins: ["ann"])))
        rig.say("one", "two")
        let session = rig.connect("ann")
        rig.send(session, 7, method.rawValue, Self.params(method))
        let answers = rig.take(session).filter { $0.id == 7 && $0["cached"]?.bool != true }
        #expect(answers.count == 1)
        #expect(answers.first?.errorCode != "internal")
    }

    /// It costs the request, and the connection goes on.
    @Test(arguments: [Method.subscribeMessages, .fetchMessages, .findBoundaries])
    func anAnswerToAnotherQuestionEndsOnlyTheRequest(_ method: Method) {
        let rig = Rig()
        rig.create()
        rig.say("one")
        let session = rig.connect("ann")
        // So that the conversation is in memory, and what is asked next is for the request.
        rig.send(session, 6, "unsubscribeMessages", #""conversation":"c1""#)
        rig.send(session, 8, "fetchConversation", #""conversation":"c1""#)
        _ = rig.take(session)
        rig.isHoldingReads = true
        rig.send(session, 7, method.rawValue, #""conversation":"c1""#)
        rig.answerReads(with: rig.loaded("c1"))
        #expect(rig.take(session).map(\.errorCode) == ["internal"])
        rig.isHoldingReads = false
        rig.send(session, 9, method.rawValue, #""conversation":"c1""#)
        #expect(rig.take(session).map(\.errorCode) == [nil])
    }
}
