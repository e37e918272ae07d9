import Chat
import Engine
import JSON
import Ports
import Upstream
import Wire

/// The answers of the health endpoints: `protocol.md` 7.
enum Health {
    /// The summary.
    static func summary(_ snapshot: Snapshot) -> [UInt8] {
        var json = JSONWriter(capacity: 768)
        json.beginObject()
        json.member("status", string: snapshot.status)
        json.member("version", string: snapshot.version)
        json.member("commit", string: snapshot.commit)
        json.member("uptime", int: snapshot.uptime)
        json.key("upstream")
        json.beginArray()
        json.beginObject()
        json.member("kind", string: snapshot.upstream.kind)
        json.member("state", string: snapshot.upstream.state.rawValue)
        json.member("since", string: snapshot.upstream.since.description)
        json.key("lastEventAge")
        if let age = snapshot.upstream.lastEventAge { json.double(age) } else { json.null() }
        if let trouble = snapshot.upstream.faults.trouble {
            json.member("trouble", string: trouble.text)
        }
        json.endObject()
        json.endArray()
        json.object("cache") {
            $0.member("writable", bool: snapshot.cache.isWritable)
            $0.member("messages", int: snapshot.cache.messages)
            $0.member("bytes", int: snapshot.cache.bytes)
        }
        json.object("sync") {
            $0.member("openGaps", int: snapshot.sync.openGaps)
            $0.member("missing", int: snapshot.sync.missing)
            $0.key("oldestGapAge")
            $0.double(snapshot.sync.oldestGapAge)
            $0.member("queued", int: snapshot.sync.queued)
            $0.member("fetching", int: snapshot.sync.fetching)
        }
        json.object("clients") {
            $0.member("connections", int: snapshot.clients.sessions)
            $0.member("subscriptions", int: snapshot.clients.subscriptions)
        }
        json.object("accounting") { $0.member("error", int: snapshot.accounting.error) }
        json.member("draining", bool: snapshot.isDraining)
        let troubles = snapshot.troubles
        if !troubles.isEmpty { json.troubles(troubles) }
        json.endObject()
        return json.bytes
    }

    /// The answer of the liveness and readiness probes.
    static func probe(_ isUp: Bool, _ snapshot: Snapshot) -> [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        json.member("status", string: isUp ? "ok" : "down")
        if !isUp {
            json.key("reasons")
            json.beginArray()
            if snapshot.isDraining { json.string("the gateway drains") }
            if !snapshot.cache.isWritable {
                json.string("the cache can't be written: \(snapshot.cache.failure)")
            }
            if snapshot.upstream.offlineFor != nil {
                let cause = snapshot.upstream.faults.trouble.map { ": \($0.text)" } ?? ""
                json.string("the feed is offline\(cause)")
            } else if snapshot.upstream.isFeedLost {
                json.string("the feed was offline a moment ago, and has to stay for a while")
            }
            json.endArray()
        }
        json.endObject()
        return json.bytes
    }
}

extension JSONWriter {
    /// The problems, worst first, and what to do about each.
    mutating func troubles(_ troubles: [UpstreamNotice]) {
        key("troubles")
        beginArray()
        for trouble in troubles {
            beginObject()
            member("code", string: trouble.event.rawValue)
            member("what", string: trouble.text)
            member("remedy", string: trouble.event.row.remedy)
            endObject()
        }
        endArray()
    }

    /// An object as a member.
    mutating func object(_ name: String, _ body: (inout JSONWriter) -> Void) {
        key(name)
        beginObject()
        body(&self)
        endObject()
    }
}
