import CWebSockets

/// The WebSocket handshake of RFC 6455 4.2: the requirements on a request, and the answer. Pure,
/// except for the digest by libwebsockets.
enum Handshake {
    /// The only subprotocol of this server. Unknown ones, and a missing one, are accepted; the
    /// answer then names none.
    static let subprotocol = "gapless.v1"

    /// The bytes of the 101 answer to a WebSocket handshake.
    ///
    /// - Throws: `HTTPRequestHead.Refusal` 400 or 426 if the handshake is invalid.
    static func answer(to head: HTTPRequestHead) throws(HTTPRequestHead.Refusal) -> [UInt8] {
        guard head.headers["sec-websocket-version"] == "13" else {
            throw HTTPRequestHead.Refusal(426, "Sec-WebSocket-Version: only 13 is spoken")
        }
        guard let key = head.headers["sec-websocket-key"], isKey(key) else {
            throw HTTPRequestHead.Refusal(400, "Sec-WebSocket-Key is not 16 bytes in base64")
        }
        guard head.contentLength == 0, !head.isChunked else {
            throw HTTPRequestHead.Refusal(400, "an upgrade with a body")
        }
        var text = """
            HTTP/1.1 101 Switching Protocols\r
            Upgrade: websocket\r
            Connection: Upgrade\r
            Sec-WebSocket-Accept: \(acceptance(of: key))\r\n
            """
        if offersSubprotocol(head) { text += "Sec-WebSocket-Protocol: \(subprotocol)\r\n" }
        text += "\r\n"
        return Array(text.utf8)
    }

    private static func offersSubprotocol(_ head: HTTPRequestHead) -> Bool {
        // Subprotocol names are case-sensitive, unlike most words of a header.
        head.headers["sec-websocket-protocol"]?.split(separator: ",").contains {
            $0.trimmed == subprotocol
        } ?? false
    }

    /// 16 bytes are 22 base64 digits and two equals signs.
    private static func isKey(_ key: String) -> Bool {
        key.utf8.count == 24 && key.hasSuffix("==")
            && key.utf8.dropLast(2).allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"):
                    true
                default: false
                }
            }
    }

    static func acceptance(of key: String) -> String {
        let input = Array((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8)
        var digest = [UInt8](repeating: 0, count: 20)
        _ = lws_SHA1(input, input.count, &digest)
        // 20 bytes are 28 characters; the library needs space for a terminator, and some more.
        var text = [CChar](repeating: 0, count: 32)
        let count = lws_b64_encode_string(
            digest.map { CChar(bitPattern: $0) }, Int32(digest.count), &text, Int32(text.count))
        return String(
            decoding: text.prefix(Int(count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
