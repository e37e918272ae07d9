/// One WebSocket connection of a swarm, which only the swarm changes.
final class Client {
    /// Its index in the swarm.
    let index: Int
    /// Nil while it is disconnected.
    var socket: Socket?
    /// The number of its current connection; the kernel's events for earlier ones are dropped.
    var generation = 0
    /// Whether it reads. A client that does not is a stalled reader.
    var isReading = true
    /// Whether the upgrade has been answered; frames begin after that.
    var isOpen = false
    /// The gateway's close code of its last connection; nil if there was none.
    var closeCode: Int?
    /// The beginning of an incomplete frame, or of an incomplete answer to the upgrade.
    var partial: [UInt8] = []
    /// Bytes that the kernel has not taken yet.
    var unsent: [UInt8] = []

    init(index: Int) { self.index = index }
}

/// Receives what a swarm reads. Called within `Swarm.turn`, which it must not call itself.
protocol FrameReceiver: AnyObject {
    /// The gateway has answered the upgrade.
    func opened(_ client: Client) throws(BenchError)
    /// A text frame came; the payload is invalid after the call.
    func received(_ payload: Span<UInt8>, on client: Client) throws(BenchError)
    /// The connection has ended, other than by the swarm. The default implementation throws.
    /// - Parameter reason: contains no received text.
    func ended(_ client: Client, _ reason: String) throws(BenchError)
}

extension FrameReceiver {
    func opened(_ client: Client) throws(BenchError) {}
    func ended(_ client: Client, _ reason: String) throws(BenchError) {
        throw .failure("connection \(client.index): \(reason)")
    }
}
