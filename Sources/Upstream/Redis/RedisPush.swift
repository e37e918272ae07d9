/// A message on a subscribed connection. A sound server sends nothing else; any other form is
/// `nothing`.
package enum RedisPush: Sendable, Hashable {
    /// An event was published.
    case event(channel: [UInt8], [UInt8])
    /// A subscription began, or ended.
    case acknowledged(channel: [UInt8], isWanted: Bool)
    /// The answer to a ping.
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
