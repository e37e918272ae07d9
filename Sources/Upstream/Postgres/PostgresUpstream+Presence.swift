import JSON
import Ports
import Wire

/// Who is there, in Postgres: one function. A schema of an earlier installation has none; then the
/// origin is not enabled for it.
extension PostgresUpstream {
    func presence(_ call: PresenceCall, token: UInt64) {
        var json = JSONWriter(capacity: 256 + 128 * call.says.count)
        json.beginObject()
        json.member("gateway", string: call.gateway)
        json.member("number", int: Int(call.number))
        json.member("era", string: call.era)
        json.member("renewal", string: call.renewal.rawValue)
        json.member("lease", int: Int(call.lease))
        json.member("grace", int: Int(call.grace))
        json.member("retain", int: Int(call.retain))
        json.key("says")
        json.beginArray()
        for saying in call.says {
            json.beginObject()
            json.member("user", string: saying.user)
            json.member("away", bool: saying.isAway)
            json.member("begun", int: Int(saying.begun))
            if let ended = saying.ended { json.member("ended", int: Int(ended)) }
            json.member("lasts", int: Int(saying.lasts))
            json.endObject()
        }
        json.endArray()
        json.member("reads", strings: call.reads)
        json.endObject()
        answers.pool.presence(json.bytes) { [outlet] result in
            let reading = result.flatMap { answer in
                PresenceReading(answer).map { .success($0) } ?? .failure(.unreadable)
            }
            outlet.deliver([.presence(token: token, reading)])
        }
    }
}

extension PresenceReading {
    /// Nil if the answer is none of the function.
    fileprivate init?(_ answer: PostgresAnswer) {
        guard answer.word == "done", let now = answer["now"]?.moment,
            let era = answer["era"]?.string, let began = answer["began"]?.moment,
            let young = answer["young"]?.moment
        else { return nil }
        self.init(
            now: now, era: era, eraBegan: began, isYoungUntil: young,
            isRenewed: answer["renewed"]?.bool == true, leases: [:], users: [:])
        for pair in answer["leases"]?.array ?? [] {
            guard let values = pair.array, values.count == 2, let gateway = values[0].string,
                let renewed = values[1].moment
            else { return nil }
            leases[gateway] = renewed
        }
        for row in answer["users"]?.array ?? [] {
            guard let values = row.array, let user = values.first?.string,
                let entry = PresenceEntry(values)
            else { return nil }
            users[user.id, default: []].append(entry)
        }
    }
}

extension PresenceEntry {
    fileprivate init?(_ values: [RawJSON]) {
        guard values.count == 9, let gateway = values[1].string, let away = values[2].bool,
            let since = values[3].moment, let said = values[4].moment
        else { return nil }
        var end: End?
        if let ended = values[5].moment, let until = values[6].moment {
            end = End(at: ended, until: until)
        }
        self.init(
            gateway: gateway, isAway: away, since: since, said: said,
            isForgotten: values[8].bool == true, end: end, renewed: values[7].moment)
    }
}

extension RawJSON {
    /// Milliseconds; nil where there is no number.
    fileprivate var moment: Int64? { int.map { Int64($0) } }
}
