/// What comes to a connection that listens. A server that is sound says nothing else; what has
/// another shape is nothing, whoever wrote it.
package enum RedisPush: Sendable, Hashable {
    /// An event was published.
    case event(channel: [UInt8], [UInt8])
    /// A subscription has begun, or has ended.
    case acknowledged(channel: [UInt8], isWanted: Bool)
    /// The server lives.
    case pong
    case nothing

    package init(_ reply: RedisReply) {
        let parts = reply.elements
        let channel = parts.count > 1 ? parts[1].bytes : nil
        switch ((parts.first ?? reply).string, channel) {
        case ("message", let channel?), ("smessage", let channel?):
            guard parts.count > 2, let event = parts[2].bytes else {
                self = .nothing
                return
            }
            self = .event(channel: channel, event)
        case ("subscribe", let channel?), ("ssubscribe", let channel?):
            self = .acknowledged(channel: channel, isWanted: true)
        case ("unsubscribe", let channel?), ("sunsubscribe", let channel?):
            self = .acknowledged(channel: channel, isWanted: false)
        case ("pong", _), ("PONG", _): self = .pong
        default: self = .nothing
        }
    }
}
