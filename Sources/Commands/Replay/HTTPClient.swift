import CCurl

/// Calls an HTTP server through libcurl, one call at a time over one connection. It owns its handle
/// and belongs to one thread; replies are held in memory, up to a limit. The one file that sees
/// libcurl's pointers.
final class HTTPClient: ReplayServer {
    /// What is kept of a reply; more is an error.
    private static let largestReply = 64 << 20
    /// How long one call may take, and how long a connection.
    private static let timeout = 60_000
    private static let connectTimeout = 5_000

    private let handle: UnsafeMutableRawPointer
    private let base: String
    private let apiKey: String
    /// A user name, a colon and a password, in place of a key.
    private let basic: String?
    private var reply: [UInt8] = []

    /// A client of the server at `base` (`http://127.0.0.1:8000`), with a key of its server API.
    /// - Throws: `TransportError` if libcurl has no handle to give.
    init(base: String, apiKey: String = "", basic: String? = nil) throws(TransportError) {
        guard let handle = curl_easy_init() else {
            throw TransportError(reason: "libcurl has no handle to give", isTransient: false)
        }
        self.handle = handle
        self.base = base
        self.apiKey = apiKey
        self.basic = basic
    }

    deinit { curl_easy_cleanup(handle) }

    func call(
        _ method: String, _ path: String, body: [UInt8]?
    ) throws(TransportError) -> HTTPReply {
        reply.removeAll(keepingCapacity: true)
        // An empty Expect keeps libcurl from asking for leave before it sends a large body.
        var headers = curl_slist_append(nil, "Expect:")
        if !apiKey.isEmpty {
            headers = curl_slist_append(headers, "Authorization: Bearer \(apiKey)")
        }
        headers = curl_slist_append(headers, "Content-Type: application/json")
        defer { curl_slist_free_all(headers) }
        // A reset keeps the connection, and forgets what the call before had set.
        curl_easy_reset(handle)
        set(CURLOPT_NOSIGNAL, 1)
        set(CURLOPT_TIMEOUT_MS, Self.timeout)
        set(CURLOPT_CONNECTTIMEOUT_MS, Self.connectTimeout)
        _ = gapless_curl_set_pointer(handle, CURLOPT_HTTPHEADER, headers)
        _ = gapless_curl_set_write(handle, receive)
        _ = gapless_curl_set_pointer(
            handle, CURLOPT_WRITEDATA, Unmanaged.passUnretained(self).toOpaque())
        (base + path).withCString { _ = gapless_curl_set_pointer(handle, CURLOPT_URL, $0) }
        // libcurl keeps a copy.
        basic?.withCString { _ = gapless_curl_set_pointer(handle, CURLOPT_USERPWD, $0) }
        let hasBody = method != "GET"
        let code = method.withCString { method in
            (body ?? []).withUnsafeBytes { bytes in
                if hasBody {
                    // libcurl reads the body from here while it performs, and makes no copy. Even
                    // an empty one is set, so that the server is told its length.
                    set(CURLOPT_POSTFIELDSIZE, bytes.count)
                    _ = gapless_curl_set_pointer(
                        handle, CURLOPT_POSTFIELDS, bytes.baseAddress ?? UnsafeRawPointer(method))
                }
                _ = gapless_curl_set_pointer(handle, CURLOPT_CUSTOMREQUEST, method)
                return curl_easy_perform(handle)
            }
        }
        guard code == CURLE_OK else { throw Self.error(code) }
        var status = 0
        _ = gapless_curl_response_code(handle, &status)
        return HTTPReply(status: status, body: reply)
    }

    /// Keeps a piece of the reply; false ends the call.
    fileprivate func keep(_ piece: UnsafeRawBufferPointer) -> Bool {
        guard reply.count + piece.count <= Self.largestReply else { return false }
        reply.append(contentsOf: piece)
        return true
    }

    private func set(_ option: CURLoption, _ value: Int) {
        _ = gapless_curl_set_long(handle, option, value)
    }

    private static func error(_ code: CURLcode) -> TransportError {
        let transient: Set<UInt32> = [
            CURLE_COULDNT_CONNECT.rawValue, CURLE_OPERATION_TIMEDOUT.rawValue,
            CURLE_GOT_NOTHING.rawValue, CURLE_SEND_ERROR.rawValue, CURLE_RECV_ERROR.rawValue,
            CURLE_PARTIAL_FILE.rawValue,
        ]
        let reason = String(cString: curl_easy_strerror(code))
        return TransportError(
            reason: "no answer from the server: \(reason) (curl \(code.rawValue))",
            isTransient: transient.contains(code.rawValue))
    }
}

/// libcurl's callback: recovers the client and makes one call.
private func receive(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int,
    _ context: UnsafeMutableRawPointer?
) -> Int {
    guard let bytes, let context else { return 0 }
    let client = Unmanaged<HTTPClient>.fromOpaque(context).takeUnretainedValue()
    let piece = UnsafeRawBufferPointer(start: bytes, count: size * count)
    return client.keep(piece) ? piece.count : 0
}
