import CWebSockets

/// A reusable byte buffer with the headroom that libwebsockets requires. Owned by the code that
/// fills it; sending does not consume it, so one filling may go to many sockets. The only type that
/// knows the layout (`LWS_PRE` bytes, then the payload).
package struct SendBuffer: Sendable {
    private static let headroom = Int(gapless_lws_pre)
    private var storage: [UInt8]

    package init(capacity: Int = 4096) {
        storage = []
        storage.reserveCapacity(Self.headroom + capacity)
        storage.append(contentsOf: repeatElement(0, count: Self.headroom))
    }

    /// The number of payload bytes.
    package var count: Int { storage.count - Self.headroom }
    package var isEmpty: Bool { count == 0 }

    package mutating func append(_ bytes: [UInt8]) {
        storage.append(contentsOf: bytes)
    }

    /// Has `write` append bytes in place.
    package mutating func append(_ write: (inout [UInt8]) -> Void) { write(&storage) }

    package mutating func append(_ bytes: ArraySlice<UInt8>) {
        storage.append(contentsOf: bytes)
    }

    package mutating func removeAll(keepingCapacity: Bool = true) {
        if keepingCapacity {
            storage.removeSubrange(Self.headroom...)
        } else {
            self = SendBuffer(capacity: 0)
        }
    }

    /// The bytes from `offset` to the end.
    func suffix(from offset: Int) -> ArraySlice<UInt8> {
        storage[(Self.headroom + offset)...]
    }

    /// Calls `body` with the bytes from `offset` on; before them lies the headroom (or earlier
    /// bytes).
    mutating func withBytes<Result>(
        from offset: Int, _ body: (UnsafeMutablePointer<UInt8>?) -> Result
    ) -> Result {
        storage.withUnsafeMutableBufferPointer { bytes in
            body(bytes.baseAddress.map { $0 + Self.headroom + offset })
        }
    }
}
