/// Sends the response to one request. May be kept and passed to any thread; must be used once, on
/// the server's loop thread or, with a courier, on the courier's. If the connection is closed by
/// then, nothing happens.
package struct HTTPResponder: Sendable {
    /// Takes a response to the server's loop, where the responder is used again.
    package typealias Courier = @Sendable (HTTPResponder, HTTPResponse) -> Void

    let server: Server
    let socket: SocketID
    /// The number of the request in its connection.
    let exchange: UInt32
    private var courier: Courier?

    init(server: Server, socket: SocketID, exchange: UInt32) {
        self.server = server
        self.socket = socket
        self.exchange = exchange
    }

    package func respond(_ response: HTTPResponse) {
        if let courier {
            var responder = self
            responder.courier = nil
            return courier(responder, response)
        }
        server.loop.preconditionOnLoop()
        server.connections[socket]?.respond(response, to: exchange)
    }

    /// A responder for another thread, which passes its response to the courier.
    package func carried(by courier: @escaping Courier) -> HTTPResponder {
        var responder = self
        responder.courier = courier
        return responder
    }
}
