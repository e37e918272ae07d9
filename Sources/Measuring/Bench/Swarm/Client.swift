/// One WebSocket connection of a swarm, which alone touches it.
final class Client {
    /// Its place in the swarm.
    let index: Int
    /// Nil while it is not connected.
    var socket: Socket?
    /// Which of its connections this is; what the kernel still says of an earlier one is dropped.
    var generation = 0
    /// Whether it takes what comes. One that does not is a stalled reader.
    var isReading = true
    /// Whether the upgrade has been answered; before that nothing is a frame.
    var isOpen = false
    /// What the gateway closed its last connection with; nil where it did so without a word.
    var closeCode: Int?
    /// The beginning of a frame, or of the upgrade's answer, whose end has not come.
    var partial: [UInt8] = []
    /// What the kernel would not take yet.
    var unsent: [UInt8] = []

    init(index: Int) { self.index = index }
}

/// Who is told what a swarm reads. Called within `Swarm.turn`, which it must not call itself.
protocol FrameReceiver: AnyObject {
    /// The gateway has answered the upgrade.
    func opened(_ client: Client) throws(BenchError)
    /// A text frame has come; the payload is gone after the call.
    func received(_ payload: Span<UInt8>, on client: Client) throws(BenchError)
    /// The connection is gone, and not by the swarm's own doing. Without this it is an error.
    /// - Parameter reason: without anything that was received.
    func ended(_ client: Client, _ reason: String) throws(BenchError)
}

extension FrameReceiver {
    func opened(_ client: Client) throws(BenchError) {}
    func ended(_ client: Client, _ reason: String) throws(BenchError) {
        throw .failure("connection \(client.index): \(reason)")
    }
}
