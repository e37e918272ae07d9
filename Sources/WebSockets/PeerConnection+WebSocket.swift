/// The WebSocket half of a connection: receives messages, answers control frames, and closes, at
/// our own wish or the peer's.
extension PeerConnection {
    func receiveFrames(_ bytes: borrowing Span<UInt8>) {
        var offset = 0
        if !isThrottled, !server.admits(bytes.count, of: self) { return hold(bytes, from: 0) }
        do {
            while !isThrottled, phase == .open || phase == .closing,
                let message = try decoder.next(in: bytes, at: &offset)
            {
                receive(message)
            }
        } catch {
            guard case .tooLarge = error, phase == .open, user == nil, hasSpoken else {
                return fail(error)
            }
            // Behind a `connect` that is not answered yet.
            waitForOwner(true)
        }
        // Throttling takes effect at once, not only after the bytes of this read.
        guard isThrottled else { return }
        hold(bytes, from: offset)
    }

    private func receive(_ message: FrameDecoder.Message) {
        if case .close(let code) = message { return closeCame(code) }
        // After our own close frame, only the peer's matters, and the rest is dropped.
        if message.isFree || phase == .closing { payToll() }
        guard phase == .open else { return }
        switch message {
        case .text(let bytes), .binary(let bytes):
            hasSpoken = true
            server.delegate?.received(id, bytes: bytes, isBinary: message.isBinary)
        case .ping(let payload): send(Frame.frame(.pong, payload))
        case .pong: server.delegate?.pong(id)
        case .close, .fragment: break
        }
    }

    /// Begins the closing handshake: once, and only for an open WebSocket.
    func close(code: UInt16, reason: String) {
        guard phase == .open else { return }
        phase = .closing
        send(Frame.close(code: code, reason: reason))
        setDeadline(server.limits.closeTimeout)
        // The peer's close frame must be read.
        throttle(false)
        waitForOwner(false)
    }

    /// The peer's close frame: an answer to ours, or answered with its own code.
    private func closeCame(_ code: UInt16?) {
        if phase == .open {
            phase = .closing
            send(code.map { Frame.close(code: $0, reason: "") } ?? Frame.frame(.close, []))
        }
        guard phase == .closing else { return }
        finish(.dead)
    }

    /// The peer broke the protocol or passed a limit.
    private func fail(_ fault: FrameDecoder.Fault) {
        if phase == .open {
            phase = .closing
            send(Frame.close(code: fault.closeCode, reason: fault.reason))
        }
        guard phase == .closing else { return }
        finish(.lingering)
    }
}
