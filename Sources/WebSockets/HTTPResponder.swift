/// The way back for one request. May be kept and carried anywhere; it is used on the loop thread,
/// and once. If the connection is gone by then, nothing happens.
package struct HTTPResponder: Sendable {
    let server: Server
    let socket: SocketID
    /// Which request of the connection it is for.
    let exchange: UInt32

    package func respond(_ response: HTTPResponse) {
        server.loop.preconditionOnLoop()
        server.connections[socket]?.respond(response, to: exchange)
    }
}
