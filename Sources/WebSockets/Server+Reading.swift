/// Turns among those who send much: `ReadTurn` decides, and a job of the next turn goes on.
extension Server {
    /// Whether to process so many bytes of the connection's input now; if not, it is not read until
    /// its turn comes.
    func admits(_ count: Int, of connection: PeerConnection) -> Bool {
        guard !turn.reading.admits(count) else { return true }
        connection.wait(true)
        if turn.reading.wait(connection.id) { postReadingOn() }
        return false
    }

    private func postReadingOn() {
        loop.post { [weak self] in self?.readOn() }
    }

    private func readOn() {
        turn.reading.beginRelease()
        while let id = turn.reading.takeNext() { connections[id]?.wait(false) }
        if turn.reading.endRelease() { postReadingOn() }
    }
}
