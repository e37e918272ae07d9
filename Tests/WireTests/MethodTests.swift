import JSON
import Testing
import Wire

/// Each method has its rows, and no frame that names one ends anything but itself.
@Suite struct MethodTests {
    private func decode(_ method: String, _ params: String) -> Result<Request, RequestError> {
        let text = #"{"id":7,"method":"\#(method)","params":\#(params)}"#
        return RequestFrame.decode(Array(text.utf8), isBinary: false).request
    }

    @Test(arguments: Method.allCases) func aMethodIsReadAndFindsItsRow(_ method: Method) throws {
        let request = try decode(method.rawValue, method.sampleParams).get()
        #expect(request.row.method == method)
        #expect(request.row.limit == (method.isLimited ? 5 : 0))
        #expect((request.row.have != nil) == method.sampleParams.contains("have"))
        let isAboutOne =
            method.sampleParams.contains(#""conversation":"c1""#) && method != .createConversation
            && method != .watchPresence
        #expect(request.row.conversation == (isAboutOne ? "c1" : nil))
    }

    @Test(arguments: Method.allCases) func whatIsMissingIsRefused(_ method: Method) {
        let needed =
            method.sampleParams.contains("conversation") || method == .refresh
            || method == .createConversation || method == .setPresence
        guard case .failure(let error) = decode(method.rawValue, "{}") else {
            #expect(!needed)
            return
        }
        #expect(needed && error.code == .badRequest)
    }

    /// As the table of `protocol.md` 3 marks them.
    @Test func fourMethodsAnswerTwice() throws {
        let twice = try Method.allCases.filter {
            try decode($0.rawValue, $0.sampleParams).get().row.kind == .twoPhaseRead
        }
        #expect(
            twice == [.fetchConversations, .fetchConversation, .fetchMessages, .fetchParticipants])
    }

    @Test func noOtherNameIsAMethod() {
        for name in ["Connect", "ping", "connect ", #"typing\u0000"#] {
            guard case .failure(let error) = decode(name, "{}") else {
                Issue.record("\(name) is a method")
                continue
            }
            #expect(error.code == .unknownMethod)
        }
    }
}

extension Method {
    /// Whether its sample names a limit.
    fileprivate var isLimited: Bool { sampleParams.contains("limit") && self != .fetchParticipants }

    /// Params that it takes.
    fileprivate var sampleParams: String {
        let head = #"{"epoch":"e","seq":3,"rev":3,"mark":"m","floor":1}"#
        let have = #""have":{"head":\#(head),"asOf":3,"runs":[[1,3]]}"#
        let one = #""conversation":"c1""#
        return switch self {
        case .connect: #"{"user":"ann"}"#
        case .refresh: #"{"token":"t"}"#
        case .subscribeMessages: #"{\#(one),\#(have),"limit":5}"#
        case .findBoundaries: #"{\#(one),\#(have)}"#
        case .subscribeConversations, .fetchConversations: #"{"limit":5}"#
        case .unsubscribeConversations: "{}"
        case .createConversation: #"{"participants":["alice"]}"#
        case .unsubscribeMessages, .fetchConversation, .deleteConversation, .leaveConversation:
            "{\(one)}"
        case .fetchMessages, .fetchParticipants: #"{\#(one),"limit":5}"#
        case .sendMessage: #"{\#(one),"body":"hello"}"#
        case .editMessage: #"{\#(one),"id":"m1","body":"hi"}"#
        case .deleteMessage: #"{\#(one),"id":"m1"}"#
        case .react: #"{\#(one),"id":"m1","key":"+1","on":true}"#
        case .fetchReactions: #"{\#(one),"id":"m1","limit":5}"#
        case .fetchOwnReactions: #"{\#(one),"after":0,"before":9}"#
        case .fetchMentions: #"{\#(one),"after":3,"limit":5}"#
        case .updateConversation: #"{\#(one),"title":"t"}"#
        case .addParticipants, .removeParticipants, .addAdmins, .removeAdmins:
            #"{\#(one),"users":["ben"]}"#
        case .markRead: #"{\#(one),"seq":1}"#
        case .typing: #"{\#(one),"state":"begin"}"#
        case .setPresence: #"{"state":"away"}"#
        case .watchPresence: #"{"watch":[{\#(one),"users":["ben"]}]}"#
        }
    }
}
