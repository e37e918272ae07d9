/// One WebSocket connection of a swarm, which alone touches it.
final class Client {
    /// Its place in the swarm.
    let index: Int
    let socket: Socket
    /// Whether the upgrade has been answered; before that nothing is a frame.
    var isOpen = false
    /// The beginning of a frame, or of the upgrade's answer, whose end has not come.
    var partial: [UInt8] = []
    /// What the kernel would not take yet.
    var unsent: [UInt8] = []

    init(index: Int, socket: Socket) {
        self.index = index
        self.socket = socket
    }
}

/// Who is told what a swarm reads. Called within `Swarm.turn`, which it must not call itself.
protocol FrameReceiver: AnyObject {
    /// The gateway has answered the upgrade.
    func opened(_ client: Client) throws(BenchError)
    /// A text frame has come; the payload is gone after the call.
    func received(_ payload: Span<UInt8>, on client: Client) throws(BenchError)
}

extension FrameReceiver {
    func opened(_ client: Client) throws(BenchError) {}
}
