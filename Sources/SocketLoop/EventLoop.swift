import CWebSockets
import Glibc

/// The libev loop and the libwebsockets context on it. Owns both C objects; watchers, virtual hosts
/// and sockets must be gone, or be destroyed with the context, when it closes.
package final class EventLoop {
    /// The most bytes of one write; the library would copy longer ones.
    package static let chunk = 64 * 1024

    /// The `ev_loop`, for watchers.
    package let events: OpaquePointer
    /// The `lws_context`, for virtual hosts.
    package let context: OpaquePointer
    private var isContextDestroyed = false
    /// How long the next turn waits before it looks for events at all. A signal of this thread ends
    /// that.
    var pause: Duration?

    /// - Parameter descriptors: The number of descriptors for which the library allocates tables;
    ///   nil for as many as the process may open.
    /// - Throws: `WebSocketError` `loop`.
    init(descriptors: UInt32? = nil) throws(WebSocketError) {
        guard let events = ev_loop_new(UInt32(EVFLAG_AUTO)) else {
            throw WebSocketError(.loop, "creating the event loop: none was given")
        }
        guard let context = Self.makeContext(on: events, descriptors) else {
            ev_loop_destroy(events)
            throw WebSocketError(
                .loop,
                "creating the libwebsockets context: refused (is libwebsockets-evlib-ev there?)")
        }
        self.events = events
        self.context = context
    }

    deinit {
        destroyContext()
        ev_loop_destroy(events)
    }

    /// Runs the handlers that are ready. If none is, waits, unless `waiting` is false.
    func turn(waiting: Bool) {
        if let pause {
            self.pause = nil
            let (seconds, attoseconds) = pause.components
            var rest = timespec(tv_sec: Int(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
            nanosleep(&rest, nil)
        }
        ev_run(events, Int32(waiting ? EVRUN_ONCE : EVRUN_NOWAIT))
    }

    /// Destroys each socket, with its callback, and the virtual hosts. The loop itself stays for
    /// the watchers, which must be stopped on it.
    func destroyContext() {
        guard !isContextDestroyed else { return }
        isContextDestroyed = true
        lws_context_destroy(context)
    }

    private static func makeContext(
        on events: OpaquePointer, _ descriptors: UInt32?
    ) -> OpaquePointer? {
        var info = lws_context_creation_info()
        info.fd_limit_per_thread = descriptors ?? 0
        info.port = CONTEXT_PORT_NO_LISTEN
        info.options =
            UInt64(LWS_SERVER_OPTION_LIBEV) | UInt64(LWS_SERVER_OPTION_EXPLICIT_VHOSTS)
            | UInt64(LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT)
        info.pt_serv_buf_size = UInt32(Self.chunk + Int(gapless_lws_pre))
        // The library's HTTP role needs header tables; no connection here has that role.
        info.max_http_header_pool = 1
        var loops: [UnsafeMutableRawPointer?] = [UnsafeMutableRawPointer(events)]
        return loops.withUnsafeMutableBufferPointer { loops in
            info.foreign_loops = loops.baseAddress
            return lws_create_context(&info)
        }
    }
}
