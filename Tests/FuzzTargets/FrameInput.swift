import JSON
import WebSockets
import Wire

/// What a client sends over a WebSocket. Of the input the first two bytes say the limit and how the
/// rest is cut; the rest is read as a stream of frames, and as the text of one.
enum FrameInput {
    static func run(_ bytes: [UInt8]) {
        guard bytes.count >= 2 else { return }
        let limit = [16, 300, 70_000][Int(bytes[0]) % 3]
        let stream = Array(bytes[2...])
        let whole = decoded(stream, limit: limit) { _ in stream.count }
        let single = decoded(stream, limit: limit) { _ in 1 }
        require(whole == single, "the same messages byte by byte")
        var state = UInt64(bytes[1])
        let pieces = decoded(stream, limit: limit) { _ in
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return 1 + Int(state >> 33) % 23
        }
        require(whole == pieces, "the same messages in any pieces")
        for case .text(let text) in whole.messages { request(text) }
        request(stream)
    }

    struct Outcome: Equatable {
        var messages: [FrameDecoder.Message] = []
        var fault: FrameDecoder.Fault?
    }

    private static func decoded(
        _ stream: [UInt8], limit: Int, cut: (Int) -> Int
    ) -> Outcome {
        var decoder = FrameDecoder(limit: limit)
        var outcome = Outcome()
        var rest = stream[...]
        do throws(FrameDecoder.Fault) {
            while !rest.isEmpty {
                let piece = Array(rest.prefix(cut(rest.count)))
                rest = rest.dropFirst(piece.count)
                var offset = 0
                while let message = try decoder.next(in: piece.span, at: &offset) {
                    check(message, limit: limit)
                    outcome.messages.append(message)
                }
                require(offset == piece.count, "a piece is read to its end")
                // An array doubles as it grows, and a control frame lies beside the message.
                require(decoder.reservedBytes <= 2 * limit + 512, "memory is bounded")
            }
        } catch {
            require([1002, 1007, 1009].contains(error.closeCode), "a fault has its close code")
            require(!error.reason.isEmpty, "a fault has its reason")
            outcome.fault = error
        }
        return outcome
    }

    private static func check(_ message: FrameDecoder.Message, limit: Int) {
        switch message {
        case .text(let text):
            require(text.count <= limit, "a text keeps the limit")
            require(String(validating: text, as: UTF8.self) != nil, "a text is UTF-8")
        case .binary(let bytes): require(bytes.count <= limit, "a message keeps the limit")
        case .ping(let payload): require(payload.count <= 125, "a ping is short")
        case .pong, .fragment: break
        case .close(let code): require(code.map { $0 >= 1000 } ?? true, "a close code is one")
        }
    }

    /// A text as a request: one that is none is answered with a field and an id.
    static func request(_ text: [UInt8]) {
        let frame = RequestFrame.decode(text, isBinary: false)
        require((0...Fields.largest).contains(frame.id), "an id that can be sent back")
        switch frame.request {
        case .failure(let error):
            require(!error.message.prefix { $0 != ":" }.isEmpty, "an error names the field")
            require(error.message.contains(": "), "an error says what is wrong with the field")
            let answer = ServerFrame.error(id: frame.id, error)
            let read = (try? JSONObject(answer)) ?? JSONObject(members: [])
            require(read["id"]?.int == frame.id, "an error goes back under its id")
        case .success(let request):
            require(frame.id >= 1, "a request has an id")
            check(request)
        }
    }

    private static func check(_ request: Request) {
        switch request {
        case .sendMessage(let conversation, let content):
            require(Identifier.isValid(conversation), "a conversation has an id")
            ContentPromises.check(content)
        case .editMessage(let conversation, let id, let edit):
            require(Identifier.isValid(conversation) && Identifier.isValid(id), "ids")
            ContentPromises.check(edit)
        case .createConversation(let id, let fields, _):
            require(id.map(Identifier.isValid) ?? true, "a conversation has an id")
            ContentPromises.check(fields)
        case .updateConversation(let conversation, let fields):
            require(Identifier.isValid(conversation), "a conversation has an id")
            ContentPromises.check(fields)
        case .subscribeMessages(let conversation, _, let limit):
            require(Identifier.isValid(conversation) && limit >= 0, "a subscription")
        case .fetchMessages(let conversation, let page):
            require(Identifier.isValid(conversation), "a conversation has an id")
            require((1...1000).contains(page.limit), "a page keeps its limit")
        default: break
        }
    }
}
