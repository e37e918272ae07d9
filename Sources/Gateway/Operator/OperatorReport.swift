import Chat
import Engine
import JSON
import Ports
import Upstream
import Wire

/// The operator's page at one moment, as JSON: ids, numbers and times, never a message's content,
/// nor a token.
struct OperatorReport {
    /// The use of something that has a limit.
    struct Limit {
        let name: String
        /// The key of the configuration, or another name of what sets the limit.
        let key: String
        let used: Double
        let limit: Double
        let remedy: String
    }

    let at: Timestamp
    let snapshot: Snapshot
    let overview: Overview
    /// Seconds since the previous report.
    let span: Double
    /// Oldest first.
    let gaps: [OpenGap]
    let limits: [Limit]
    let point: LastHour.Point?
    let notices: [Notices.Notice]
    /// The public name of a connection: `session` in the answer to `connect`.
    let name: (SessionID) -> String

    /// The most gaps, conversations and readers that are listed.
    static let named = 20

    var json: [UInt8] {
        var json = JSONWriter(capacity: 16_384)
        json.beginObject()
        json.member("at", string: at.description)
        json.member("version", string: snapshot.version)
        json.member("commit", string: snapshot.commit)
        json.member("uptime", int: snapshot.uptime)
        json.member("status", string: snapshot.status)
        json.member("ready", bool: snapshot.isReady)
        json.troubles(snapshot.troubles)
        json.object("upstream", upstream)
        json.object("clients") {
            $0.member("connections", int: snapshot.clients.sessions)
            $0.member("subscriptions", int: snapshot.clients.subscriptions)
            $0.member("conversations", int: snapshot.clients.streams)
            $0.member("blocked", int: overview.blocked)
            $0.member("waitingBytes", int: snapshot.clients.outboxBytes)
            $0.member("shed", int: snapshot.figures.shed)
        }
        json.object("gaps", gaps)
        writeConversations(&json)
        writeReaders(&json)
        writeLimits(&json)
        json.object("accounting") {
            $0.member("accepted", int: snapshot.accounting.accepted)
            $0.member("written", int: snapshot.accounting.written)
            $0.member("coalesced", int: snapshot.accounting.coalesced)
            $0.member("discarded", int: snapshot.accounting.discarded)
            $0.member("queued", int: snapshot.accounting.queued)
            $0.member("error", int: snapshot.accounting.error)
        }
        json.object("process") {
            $0.member("residentBytes", int: snapshot.process.residentBytes)
            $0.key("processorSeconds")
            $0.double(snapshot.process.processorSeconds)
            $0.member("cacheBytes", int: snapshot.cache.bytes)
            $0.member("cachedMessages", int: snapshot.cache.messages)
        }
        json.notices(notices)
        json.endObject()
        return json.bytes
    }

    /// The origin: its feed, reads and writes.
    private func upstream(_ json: inout JSONWriter) {
        json.member("kind", string: snapshot.upstream.kind)
        json.member("state", string: snapshot.upstream.state.rawValue)
        json.member("since", string: snapshot.upstream.since.description)
        json.key("trouble")
        if let trouble = snapshot.upstream.faults.trouble {
            json.string(trouble.text)
        } else {
            json.null()
        }
        json.object("feed") {
            $0.member("live", bool: snapshot.upstream.offlineFor == nil)
            $0.key("offlineFor")
            if let seconds = snapshot.upstream.offlineFor { $0.double(seconds) } else { $0.null() }
            $0.key("lastEventAge")
            if let seconds = snapshot.upstream.lastEventAge {
                $0.double(seconds)
            } else {
                $0.null()
            }
            $0.member("lag", times: point?.fanout)
        }
        json.object("reads") {
            $0.member("times", times: point?.fetch)
            $0.key("failed")
            $0.double(point?.failedFetches ?? 0)
            $0.member("queued", int: snapshot.sync.queued)
            $0.member("fetching", int: snapshot.sync.fetching)
        }
        json.object("writes") {
            $0.member("times", times: point?.operation)
            $0.member("refused", int: snapshot.upstream.faults.refusedWrites.values.reduce(0, +))
        }
    }

    private func gaps(_ json: inout JSONWriter) {
        json.member("open", int: snapshot.sync.openGaps)
        json.member("missing", int: snapshot.sync.missing)
        json.key("oldest")
        json.double(snapshot.sync.oldestGapAge)
        json.key("list")
        json.beginArray()
        for open in gaps.prefix(Self.named) { open.write(to: &json) }
        json.endArray()
    }

    private func writeConversations(_ json: inout JSONWriter) {
        json.key("busiest")
        json.beginArray()
        for conversation in overview.busiest {
            json.beginObject()
            json.member("conversation", string: conversation.id)
            json.member("watchers", int: conversation.watchers)
            json.key("rate")
            json.double(Double(conversation.news) / max(0.1, span))
            json.member("accepted", int: conversation.accounting.accepted)
            json.member("written", int: conversation.accounting.written)
            json.member("coalesced", int: conversation.accounting.coalesced)
            json.endObject()
        }
        json.endArray()
    }

    private func writeReaders(_ json: inout JSONWriter) {
        json.key("slowest")
        json.beginArray()
        for reader in overview.slowest {
            json.beginObject()
            json.member("session", string: name(reader.session))
            json.member("user", string: reader.user)
            json.member("waiting", int: reader.waiting)
            json.member("blocked", bool: reader.isBlocked)
            json.member("coalesced", int: reader.coalesced)
            json.member("subscriptions", int: reader.subscriptions)
            json.endObject()
        }
        json.endArray()
    }

    private func writeLimits(_ json: inout JSONWriter) {
        json.key("limits")
        json.beginArray()
        for limit in limits {
            json.beginObject()
            json.member("name", string: limit.name)
            json.member("key", string: limit.key)
            json.key("used")
            json.double(limit.used)
            json.key("limit")
            json.double(limit.limit)
            json.member("remedy", string: limit.remedy)
            json.endObject()
        }
        json.endArray()
    }
}

extension Snapshot {
    /// How many days before its expiry the certificate is a trouble.
    static let certificateNotice = 30

    /// The reasons why the status is not `ok`, or soon will not be, worst first, and what to do
    /// about each.
    var troubles: [UpstreamNotice] {
        var troubles: [UpstreamNotice] = []
        func add(_ event: LogEvent, _ text: String? = nil) {
            troubles.append(UpstreamNotice(event, text ?? event.row.text))
        }
        if isDraining { add(.draining) }
        if !cache.isWritable {
            add(cache.event, "The file of cache.path can't be written: \(cache.failure)")
        }
        if let trouble = upstream.faults.trouble { troubles.append(trouble) }
        if upstream.state == .offline {
            add(.originOffline)
        } else if upstream.state == .syncing {
            add(.originSyncing)
        }
        if sync.openGaps > 0 {
            add(
                .gapsOpen,
                "\(sync.openGaps) gaps are open: changes that this gateway lacks and fetches.")
        }
        if process.isShortOfDescriptors { add(.descriptorsExhausted) }
        if let days = certificateDaysLeft, days < 0 {
            add(.certificateExpired)
        } else if let days = certificateDaysLeft, days < Self.certificateNotice {
            add(.certificateExpires, "The certificate of TLS expires in \(days) days.")
        }
        if accounting.error != 0 {
            add(
                .accountingWrong,
                "The accounting is out by \(accounting.error): a fault of the program.")
        }
        return troubles
    }
}
