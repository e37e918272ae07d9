import Ports
import Wire

/// Who is there, in Redis: one script, on four keys of one slot. The server's clock gives each
/// moment, and nothing has a time to live. Whom a gateway says, the others hear by a channel of its
/// own, to which gateways of earlier versions don't subscribe.
extension Redis {
    func presence(_ call: PresenceCall, token: UInt64) {
        var texts = [
            call.gateway, String(call.number), call.era, call.renewal.rawValue,
            String(call.lease), String(call.grace), String(call.retain), String(call.says.count),
        ]
        for saying in call.says {
            texts += [
                saying.user, saying.isAway ? "1" : "0", String(saying.begun),
                saying.ended.map { String($0) } ?? "", String(saying.lasts),
            ]
        }
        let arguments =
            [scripts.options.publishing, scripts.keys.channel(of: .presence)]
            + (texts + call.reads).map { Array($0.utf8) }
        let command = RedisCommand.script(
            .presence, keys: scripts.keys.presence, arguments: arguments)
        scripts.servers.send([command]) { [self] result in
            let reading = result.flatMap { scripts.read($0[0], .presence, "") }.flatMap {
                PresenceReading($0).map { .success($0) } ?? .failure(.unreadable)
            }
            outlet.deliver([.presence(token: token, reading)])
        }
    }
}

extension PresenceReading {
    /// Nil if the answer is none of the script.
    fileprivate init?(_ answer: RedisScripts.Answer) {
        guard let now = answer[1].moment, let era = answer[2].string,
            let began = answer[3].moment, let young = answer[7].moment
        else { return nil }
        self.init(
            now: now, era: era, eraBegan: began, isYoungUntil: young,
            isRenewed: answer[4].int == 1, leases: [:], users: [:])
        let leases = answer[5].elements
        for at in stride(from: 0, to: leases.count - 1, by: 2) {
            guard let gateway = leases[at].string, let renewed = leases[at + 1].moment else {
                return nil
            }
            self.leases[gateway] = renewed
        }
        let users = answer[6].elements
        for at in stride(from: 0, to: users.count - 1, by: 2) {
            guard let user = users[at].string,
                let entries = [PresenceEntry](users[at + 1].elements)
            else { return nil }
            self.users[user.id] = entries
        }
    }
}

extension [PresenceEntry] {
    /// Eight values each.
    fileprivate init?(_ values: [RedisReply]) {
        self = []
        guard values.count.isMultiple(of: 8) else { return nil }
        for at in stride(from: 0, to: values.count, by: 8) {
            guard let gateway = values[at].string, let away = values[at + 1].string,
                let since = values[at + 2].moment, let said = values[at + 3].moment,
                let renewed = values[at + 6].moment
            else { return nil }
            var end: PresenceEntry.End?
            if let ended = values[at + 4].moment, let until = values[at + 5].moment {
                end = PresenceEntry.End(at: ended, until: until)
            }
            append(
                PresenceEntry(
                    gateway: gateway, isAway: away == "1", since: since, said: said,
                    isForgotten: values[at + 7].string == "1", end: end,
                    renewed: renewed < 0 ? nil : renewed))
        }
    }
}

extension RedisReply {
    /// Milliseconds, written as a text.
    fileprivate var moment: Int64? { string.flatMap { Int64($0) } }
}
