import ClientCore

#if canImport(Darwin)
import URLSessionTransport
#else
import LoopTransport
#endif

/// What a client stands on where its app says nothing else.
enum DefaultTransport {
    static func make() -> any ClientTransport {
        #if canImport(Darwin)
        URLSessionTransport()
        #else
        LoopTransport()
        #endif
    }
}
