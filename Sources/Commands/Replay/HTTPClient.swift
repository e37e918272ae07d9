import CCurl

/// Calls an HTTP server through libcurl, one call at a time over one connection. It owns its handle
/// and belongs to one thread; replies are held in memory, up to a limit. No other file uses
/// libcurl's pointers.
final class HTTPClient: ReplayServer {
    /// The largest reply; a larger one is an error.
    private static let largestReply = 64 << 20
    /// Timeouts in milliseconds: of a whole call, and of connecting.
    private static let timeout = 60_000
    private static let connectTimeout = 5_000

    private let handle: UnsafeMutableRawPointer
    private let base: String
    private let apiKey: String
    /// `user:password` for HTTP basic, instead of a key.
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
        // An empty `Expect` stops libcurl from waiting for `100 Continue` before it sends a large
        // body.
        var headers = curl_slist_append(nil, "Expect:")
        if !apiKey.isEmpty {
            headers = curl_slist_append(headers, "Authorization: Bearer \(apiKey)")
        }
        headers = curl_slist_append(headers, "Content-Type: application/json")
        defer { curl_slist_free_all(headers) }
        // A reset keeps the connection and clears the options of the call before.
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
                    // libcurl reads the body from here during the call, without a copy. An empty
                    // one is set too, so that the server gets a length.
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

    /// Appends a piece of the reply; false aborts the call.
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

/// libcurl's write callback: passes a piece of the reply to its client.
private func receive(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int,
    _ context: UnsafeMutableRawPointer?
) -> Int {
    guard let bytes, let context else { return 0 }
    let client = Unmanaged<HTTPClient>.fromOpaque(context).takeUnretainedValue()
    let piece = UnsafeRawBufferPointer(start: bytes, count: size * count)
    return client.keep(piece) ? piece.count : 0
}
