/// The state of the request that a connection reads or answers.
struct Exchange {
    /// Counts the requests of a connection, so that an answer is matched to its request.
    var number: UInt32 = 0
    var head: HTTPRequestHead?
    /// Bytes of `input` already searched for the end of the head.
    var searched = 0
    /// Empty lines before the head.
    var emptyLines = 0
    /// When all of a long answer must be written; nil for one without an end.
    var answerEnds: Deadlines.Tick?
    /// The decoder of a chunked body.
    var chunks: ChunkedBody?
    var keepsAlive = true
    /// Set while input is being read, so that an answer within a call does not start another read.
    var isReading = false
}

/// The HTTP half of a connection: requests are answered one after the other, in order. While one is
/// being answered, at most one read of the next is buffered, then reading stops.
extension PeerConnection {
    func receiveHTTP(_ bytes: borrowing Span<UInt8>) {
        if input.isEmpty, phase == .head { firstBytesCame() }
        input.append(copying: bytes)
        switch phase {
        case .answering, .responding: pauseReading(true)
        default:
            // A head is short, is answered at once if it is refused, and says whose its body is.
            if phase == .head { readRequests(upTo: 1) }
            // A body may have as many reads as it likes; each waits for its turn.
            if phase == .body, !isThrottled, !server.admits(bytes.count, of: self) { return }
            readRequests()
        }
    }

    /// A request begins: from now on its head has the handshake timeout.
    private func firstBytesCame() {
        guard exchange.number == 0 else { return setDeadline(server.limits.handshakeTimeout) }
        // Our own timeout has been running since the socket was accepted.
        if listener.tls != nil { socket?.cancelTimeout() }
    }

    /// Reads all complete requests that can be answered at once.
    /// - Parameter most: as many heads and bodies.
    func readRequests(upTo most: Int = .max) {
        guard !exchange.isReading else { return }
        exchange.isReading = true
        defer { exchange.isReading = false }
        var count = 0
        while count < most, !isThrottled, phase == .head ? readHead() : phase == .body && readBody()
        {
            count += 1
        }
        if phase == .open, !input.isEmpty {
            // Bytes after the handshake are frames already.
            let rest = input
            input = []
            receiveFrames(rest.span)
        }
    }

    /// Old clients send an empty line before a request (RFC 9112 2.2); no client sends many.
    private static let emptyLineLimit = 4

    /// - Returns: whether there was a complete head.
    private func readHead() -> Bool {
        while exchange.searched == 0, input.starts(with: [0x0D, 0x0A]) {
            exchange.emptyLines += 1
            guard exchange.emptyLines <= Self.emptyLineLimit else {
                refuse(400, "more than \(Self.emptyLineLimit) empty lines before a request")
                return false
            }
            input.removeFirst(2)
        }
        guard let end = HTTPRequestHead.end(in: input, searched: exchange.searched) else {
            exchange.searched = input.count
            if input.count > server.limits.head { refuse(431, "head above its limit") }
            return false
        }
        guard end <= server.limits.head else {
            refuse(431, "head above its limit")
            return true
        }
        exchange.searched = 0
        exchange.emptyLines = 0
        exchange.number &+= 1
        do {
            let head = try HTTPRequestHead(
                input[..<end], fieldLimit: server.limits.headerFields,
                needsHost: listener.needsHost)
            input.removeFirst(end)
            try begin(head)
        } catch {
            refuse(error.status, error.reason)
        }
        return true
    }

    /// Decides on a request by its head.
    private func begin(_ head: HTTPRequestHead) throws(HTTPRequestHead.Refusal) {
        exchange.head = head
        exchange.keepsAlive = head.keepsAlive
        if head.wantsWebSocket, listener.serves.contains(.webSockets) { return try upgrade(head) }
        guard listener.serves.contains(.http) else {
            throw HTTPRequestHead.Refusal(426, "only WebSockets are served here")
        }
        guard let method = HTTPMethod(rawValue: head.method) else {
            throw HTTPRequestHead.Refusal(405, "method not known")
        }
        let request = RequestHead(
            listener: listener.name, method: method, path: head.path, headers: head.headers,
            hasBody: head.contentLength > 0 || head.isChunked, remoteAddress: remoteAddress)
        guard let admission = server.delegate?.admit(request) else { return abandon() }
        guard enterCount(isStranger: admission.isStranger) else {
            return sendLast(.tooManyRequests(server.limits))
        }
        switch admission {
        case .accept(let limit, let isFree): try accept(head, limit: limit, isFree: isFree)
        case .refuse(let response): sendLast(response)
        }
    }

    private func accept(
        _ head: HTTPRequestHead, limit: Int?, isFree: Bool
    ) throws(HTTPRequestHead.Refusal) {
        let limit = limit ?? server.limits.httpBody
        guard head.contentLength <= limit else {
            throw HTTPRequestHead.Refusal(
                413, "body: \(head.contentLength) bytes, at most \(limit) are accepted")
        }
        phase = .body
        exchange.chunks = head.isChunked ? ChunkedBody(limit: limit) : nil
        if isFree { payToll() }
        guard head.isChunked || head.contentLength > input.count else { return }
        // To grow step by step would copy all that came, several times.
        if !head.isChunked { input.reserveCapacity(head.contentLength) }
        setDeadline(server.limits.bodyTimeout)
        if head.expectsContinue { send(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)) }
    }

    /// - Returns: whether the body was complete.
    private func readBody() -> Bool {
        guard let head = exchange.head, let method = HTTPMethod(rawValue: head.method),
            let body = takeBody(of: head)
        else { return false }
        setDeadline(nil)
        phase = .answering
        let request = HTTPRequest(
            listener: listener.name, method: method, path: head.path, query: head.query,
            headers: head.headers, body: body, remoteAddress: remoteAddress,
            isSecure: listener.tls != nil)
        let responder = HTTPResponder(server: server, socket: id, exchange: exchange.number)
        server.delegate?.request(request, responder)
        // A half-closed peer, which has sent all its requests, would be taken for a closed one.
        if phase == .answering { pauseReading(true) }
        return true
    }

    /// The body, once it is complete; an invalid one is refused.
    private func takeBody(of head: HTTPRequestHead) -> [UInt8]? {
        guard exchange.chunks != nil else {
            guard input.count >= head.contentLength else { return nil }
            guard input.count > head.contentLength else {
                // Nothing stands behind it: a large one is not copied.
                defer { input = [] }
                return input
            }
            let body = Array(input.prefix(head.contentLength))
            input.removeFirst(head.contentLength)
            return body
        }
        do {
            guard try exchange.chunks?.take(&input) == true else { return nil }
        } catch {
            exchange.chunks = nil
            refuse(error.status, error.reason)
            return nil
        }
        defer { exchange.chunks = nil }
        return exchange.chunks?.bytes
    }

    func respond(_ response: HTTPResponse, to number: UInt32) {
        guard phase == .answering, number == exchange.number, let head = exchange.head else {
            return
        }
        exchange.head = nil
        exchange.answerEnds = Self.tick(after: server.limits.answerTimeout)
        phase = .responding
        var connection = exchange.keepsAlive ? (head.isCurrent ? nil : "keep-alive") : "close"
        if response.status == 426 { connection = connection.map { "\($0), Upgrade" } ?? "Upgrade" }
        let isBodyless = head.method == "HEAD" || !response.allowsBody
        send(
            head: response.head(date: server.dateField(), connection: connection),
            body: isBodyless ? [] : response.body)
        guard phase != .dead else { return }
        if isBlocked {
            setDeadline(server.limits.stallTimeout, before: exchange.answerEnds)
        } else {
            responseDidEnd()
        }
    }

    /// The response was written completely.
    func responseDidEnd() {
        guard exchange.keepsAlive else { return finish(.lingering) }
        leaveCount()
        phase = .head
        pauseReading(false)
        setDeadline(
            input.isEmpty ? server.limits.keepAliveTimeout : server.limits.handshakeTimeout)
        readRequests()
    }

    private func upgrade(_ head: HTTPRequestHead) throws(HTTPRequestHead.Refusal) {
        let answer = try Handshake.answer(to: head)
        let request = UpgradeRequest(
            listener: listener.name, path: head.path, query: head.query, headers: head.headers,
            remoteAddress: remoteAddress, isSecure: listener.tls != nil)
        switch server.delegate?.upgrade(request) {
        case .accept:
            phase = .open
            exchange = Exchange()
            setDeadline(nil)
            send(answer)
            guard phase == .open else { return }
            wasConnected = true
            server.delegate?.connected(id, request)
        case .refuse(let response): sendLast(response)
        case nil: abandon()
        }
    }

    /// Answers a refused request and closes the connection, because the start of the next request
    /// is unknown, or the peer is not trusted with another.
    private func refuse(_ status: Int, _ reason: String) {
        var response = HTTPResponse(status: status, refusal: reason)
        switch status {
        case 405:
            let methods = HTTPMethod.allCases.map(\.rawValue).joined(separator: ", ")
            response.headers.append(HTTPResponse.Field("Allow", methods))
        case 426:
            response.headers.append(HTTPResponse.Field("Upgrade", "websocket"))
            response.headers.append(HTTPResponse.Field("Sec-WebSocket-Version", "13"))
        default: break
        }
        sendLast(response)
    }

    private func sendLast(_ response: HTTPResponse) {
        let isBodyless = exchange.head?.method == "HEAD" || !response.allowsBody
        exchange.head = nil
        exchange.keepsAlive = false
        exchange.answerEnds = Self.tick(after: server.limits.answerTimeout)
        phase = .responding
        let upgrade = response.status == 426 ? "close, Upgrade" : "close"
        send(
            head: response.head(date: server.dateField(), connection: upgrade),
            body: isBodyless ? [] : response.body)
        guard phase != .dead else { return }
        finish(.lingering)
    }
}
