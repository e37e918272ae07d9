import Cache
import Chat
import Ports
import SQLite
import Wire

/// Who is there, for the one gateway of an embedded log. After a start nobody knows for a while
/// who will be back.
extension MessageLog {
    func answer(_ call: PresenceCall) throws(CacheError) -> PresenceReading {
        let now = now.milliseconds
        for saying in call.says { try presence.say(saying, of: call.gateway, at: now) }
        let held = try presence.leases(since: now - call.lease)[call.gateway] != nil
        let isRenewed =
            switch call.renewal {
            case .none: false
            case .ifHeld: held && call.era == mark
            case .allSaid: call.era == mark
            case .whole: true
            }
        if isRenewed {
            try presence.renew(call.gateway, at: now, forgetting: now - call.retain)
        }
        var users: [ID: [PresenceEntry]] = [:]
        for user in call.reads { users[user.id] = try presence.entries(of: user) }
        return PresenceReading(
            now: now, era: mark, eraBegan: began, isYoungUntil: began + call.grace,
            isRenewed: isRenewed, leases: try presence.leases(since: now - call.lease - call.grace),
            users: users)
    }
}
