import Engine
import Gateway
import JSON
import Ports
import Rules
import WebSockets
import Wire

/// What comes over an HTTP connection: a head, and the body behind it, as a call of the server API.
enum HTTPInput {
    static func run(_ bytes: [UInt8]) {
        encoding(bytes)
        let end = HTTPRequestHead.end(in: bytes, searched: 0)
        require(end == endInSteps(bytes), "the same end however the head comes")
        guard let end else { return }
        guard let head = try? HTTPRequestHead(bytes[..<end], fieldLimit: 100) else { return }
        check(head)
        let body = Array(bytes[end...])
        chunks(body)
        for method in Set([head.method, "GET", "POST", "PUT", "PATCH", "DELETE"]) {
            call(method, head, body)
        }
        query(head.query ?? "")
    }

    // MARK: the head

    /// The end, with the bytes coming a few at a time. Where no head ends early there is none.
    private static func endInSteps(_ bytes: [UInt8]) -> Int? {
        let step = 1 + bytes.count % 17
        var searched = 0
        for count in stride(from: step, to: bytes.count, by: step) {
            if let end = HTTPRequestHead.end(in: Array(bytes[..<count]), searched: searched) {
                return end
            }
            searched = count
        }
        return HTTPRequestHead.end(in: bytes, searched: searched)
    }

    private static func check(_ head: HTTPRequestHead) {
        require(head.path.hasPrefix("/") || head.path == "*", "a path begins with a slash")
        let target = head.path + (head.query.map { "?" + $0 } ?? "")
        require(target.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }, "a target in one word")
        require(!head.path.contains("?") && !target.contains("#"), "path and query are parted")
        require(!head.method.isEmpty && head.contentLength >= 0, "a method and a length")
        require(
            head.isChunked == (head.headers["transfer-encoding"] != nil)
                && (!head.isChunked || head.headers["content-length"] == nil),
            "one way to say where a body ends")
        var text = "\(head.method) \(target) HTTP/\(head.isCurrent ? "1.1" : "1.0")\r\n"
        for (name, value) in head.headers.fields {
            require(!name.isEmpty && name == name.lowercased(), "a field has a name")
            require(name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != 0x3A }, "a name")
            require(value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 9 }, "one line")
            text += "\(name): \(value)\r\n"
        }
        text += "\r\n"
        let written = Array(text.utf8)
        guard let read = try? HTTPRequestHead(written[...], fieldLimit: 100) else {
            return require(false, "what was understood is understood when it is passed on")
        }
        require(read.method == head.method && read.isCurrent == head.isCurrent, "method, version")
        require(read.path == head.path && read.query == head.query, "the same target")
        require(read.headers == head.headers, "no header comes in by another")
        require(read.contentLength == head.contentLength, "the same length")
        require(read.wantsWebSocket == head.wantsWebSocket, "the same wish")
        require(read.keepsAlive == head.keepsAlive, "the same connection")
        require(read.expectsContinue == head.expectsContinue, "the same expectation")
    }

    // MARK: bodies in chunks

    /// The same body, whole and byte by byte, and never more of it than is accepted.
    private static func chunks(_ bytes: [UInt8]) {
        func read(by step: Int) -> ([UInt8], Bool?) {
            var body = ChunkedBody(limit: 64)
            var input: [UInt8] = []
            for start in stride(from: 0, to: bytes.count, by: step) {
                input += bytes[start..<min(bytes.count, start + step)]
                guard let isWhole = try? body.take(&input) else { return (body.bytes, nil) }
                if isWhole { return (body.bytes, true) }
            }
            return (body.bytes, false)
        }
        let (whole, wholeEnd) = read(by: max(1, bytes.count))
        let (single, singleEnd) = read(by: 1)
        require(whole.count <= 64 && single.count <= 64, "a body keeps the limit")
        require(wholeEnd == singleEnd && (wholeEnd == nil || whole == single), "the same body")
    }

    // MARK: paths and queries

    private static func encoding(_ bytes: [UInt8]) {
        for plusIsSpace in [false, true] {
            guard let text = PercentEncoding.decode(bytes, plusIsSpace: plusIsSpace) else {
                continue
            }
            let encoded = Array(PercentEncoding.encode(text).utf8)
            require(encoded.allSatisfy { $0 > 0x20 && $0 < 0x7F }, "an encoded text is ASCII")
            require(!encoded.contains { "/?#&=+ ".utf8.contains($0) }, "in one piece")
            let again = PercentEncoding.decode(encoded, plusIsSpace: plusIsSpace)
            require(again?.utf8.elementsEqual(text.utf8) == true, "decoded as it was encoded")
        }
    }

    private static func query(_ text: String) {
        guard let query = try? QueryString(text) else { return }
        if let page = try? query.page() {
            require((1...1000).contains(page.limit), "a page keeps its limit")
            let isAround = page.around != nil
            require(!isAround || page.before == nil && page.after == nil, "one anchor around")
        }
        if let page = try? query.participants() {
            require((0...1 << 53).contains(page.offset), "an offset within its range")
        }
    }

    // MARK: the server API

    private static func call(_ method: String, _ head: HTTPRequestHead, _ body: [UInt8]) {
        let api = ServerAPI(limits: LogLimits())
        do throws(ServerAPI.Failure) {
            let call = try api.call(
                method: method, path: head.path, query: head.query ?? "", body: body)
            check(call)
        } catch {
            switch error {
            case .method(let allowed):
                require(!allowed.isEmpty && !allowed.contains(method), "another method is allowed")
            case .error(let error):
                require(!error.message.isEmpty && error.code != .internal, "an error says why")
                var json = JSONWriter()
                json.beginObject()
                json.member("error", error: error)
                json.endObject()
                require((try? JSONObject(json.bytes)) != nil, "an error is valid JSON")
            }
        }
    }

    private static func check(_ call: ServerAPI.Call) {
        switch call {
        case .perform(.send(conversation: let conversation, let messages), _):
            require(Identifier.isValid(conversation), "a conversation has an id")
            require((1...1000).contains(messages.count), "as many messages as are accepted")
            for message in messages {
                require(Identifier.isValid(message.author), "an author has an id")
                require(message.content.size <= 1 << 16, "a message keeps the limit")
                ContentPromises.check(message.content)
            }
        case .perform(.edit(conversation: let conversation, id: let id, let edit), _):
            require(Identifier.isValid(conversation) && Identifier.isValid(id), "ids")
            ContentPromises.check(edit)
        case .perform(.put(id: let id, let fields), _):
            require(Identifier.isValid(id), "a conversation has an id")
            ContentPromises.check(fields)
        case .perform(.addParticipants(conversation: let conversation, let participants), _):
            require(Identifier.isValid(conversation), "a conversation has an id")
            for participant in participants { ContentPromises.check(participant) }
        case .disconnect(user: let user, _):
            require(Identifier.isValid(user), "a user has an id")
        case .boundaries(let conversation):
            require(Identifier.isValid(conversation), "a conversation has an id")
        case .ask(let query, _):
            guard case .heads(let ids) = query else { return }
            require(ids.count <= 1000 && ids.allSatisfy(Identifier.isValid), "ids")
        default: break
        }
    }
}
