import Chat
import Ports
import Wire

/// A log of which the origin has lost a part: it is never shown as whole. The conversation counts
/// as cut off, until an answer about it succeeds.
extension Sync {
    /// The origin has found that this part of the log is damaged, or (nil) that it is whole again.
    func heard(_ part: String?, of conversation: String) {
        guard let stream = streams[conversation.id], stream.replica != nil else { return }
        if let part {
            damaged(stream, part)
        } else if stream.replica?.backoff.damagedPart != nil {
            stream.replica?.backoff.retry()
            drive(stream)
        }
    }

    /// Those who watch are told that it is open, and those who wait are answered with what is held.
    func damaged(_ stream: Stream, _ part: String) {
        guard let replica = stream.replica, replica.backoff.damagedPart != part else { return }
        stream.replica?.backoff.damage(part)
        stream.readership = Readership()
        if replica.isLive {
            fanout.flush(stream)
            _ = stream.replica?.doubted(at: now)
            tellOpen(stream)
        }
        fallBack(stream)
        emit(.wake(stream))
    }

    /// Why the origin does not answer about a conversation.
    func unavailable(_ stream: Stream) -> RequestError {
        stream.replica?.backoff.damagedPart.map { .damaged($0) } ?? .originUnavailable
    }
}
