import CRing
import Glibc

/// Sends of the same bytes to many sockets by io_uring, in one call of the kernel in place of one
/// for each. The only owner of its `gapless_ring`; it belongs to the thread that makes it.
final class SendRing {
    /// With fewer sockets the ring costs as much as it saves.
    static let fewest = 4

    /// The call of the kernel, and what tests put in front of it.
    typealias Kernel = @convention(c) (Int32, UnsafeMutablePointer<UInt32>?, UInt32, UInt32) -> Int
    static let kernel: Kernel = gapless_ring_kernel

    private let ring: OpaquePointer
    private var descriptors: [Int32] = []
    /// What each of `descriptors` took.
    private var taken: [Int32] = []

    /// Nil where the kernel has no ring for this process; `errno` has the reason.
    /// - Parameter kernel: what is called for the kernel.
    init?(by kernel: @escaping Kernel = SendRing.kernel) {
        guard let ring = gapless_ring_open() else { return nil }
        gapless_ring_enter_by(ring, kernel)
        self.ring = ring
    }

    deinit { gapless_ring_close(ring) }

    /// Whether it sends nothing from now on.
    var hasFailed: Bool { gapless_ring_failed(ring) != 0 }

    /// What a socket took of which nobody knows: it must not be written any more.
    static let unknown = Int32(GAPLESS_RING_UNKNOWN)

    /// Sends the bytes to each of the sockets, without waiting.
    /// - Returns: what each took, for as many as were tried: all, unless the ring failed.
    func send(
        _ bytes: UnsafePointer<UInt8>?, count: Int, to sockets: some Sequence<Int32>
    ) -> ArraySlice<Int32> {
        descriptors.removeAll(keepingCapacity: true)
        descriptors.append(contentsOf: sockets)
        if taken.count < descriptors.count {
            taken.append(contentsOf: repeatElement(0, count: descriptors.count - taken.count))
        }
        let tried = gapless_ring_send(
            ring, descriptors, Int32(descriptors.count), bytes, count, &taken)
        return taken.prefix(Int(tried))
    }
}

/// Whether this process may use io_uring.
package enum IOUring {
    /// The kernel's reason why not; nil where it may.
    package static var refusal: String? {
        SendRing() == nil ? String(cString: strerror(errno)) : nil
    }
}
