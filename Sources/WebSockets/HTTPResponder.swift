/// The way back for one request. May be kept and carried anywhere; it is used once, on the loop
/// thread of the server or, with a courier, on the courier's. If the connection is gone by then,
/// nothing happens.
package struct HTTPResponder: Sendable {
    /// Takes an answer to the loop of the server, where the responder is used again.
    package typealias Courier = @Sendable (HTTPResponder, HTTPResponse) -> Void

    let server: Server
    let socket: SocketID
    /// Which request of the connection it is for.
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

    /// The same for another thread, whose answer the courier takes over.
    package func carried(by courier: @escaping Courier) -> HTTPResponder {
        var responder = self
        responder.courier = courier
        return responder
    }
}
