import Configuration
import Engine
import Ports
import Upstream
import Wire

/// The text of `/metrics`. Labels are bounded: words of this program, never of a client. The
/// reference, with what to do about each metric, is `deploy/reference/metrics.md`.
enum Metrics {
    /// All metrics of the moment.
    static func text(
        _ snapshot: Snapshot, _ measurements: Measurements, _ gaps: GapTable
    ) -> [UInt8] {
        var text = Exposition()
        text.service(snapshot)
        text.process(snapshot)
        text.origin(snapshot, measurements, gaps)
        text.clients(snapshot, measurements)
        text.times(measurements)
        text.accounting(snapshot)
        text.storage(snapshot, measurements)
        return Array(text.text.utf8)
    }
}

extension Exposition {
    fileprivate mutating func service(_ snapshot: Snapshot) {
        gauge(
            "gapless_build_info", "The version that runs, and the commit that it was built from.",
            1, ["version": snapshot.version, "commit": snapshot.commit])
        gauge("gapless_uptime_seconds", "Seconds since the start.", snapshot.uptime)
        gauge(
            "gapless_ready", "1 while /health/ready answers 200, otherwise 0.",
            snapshot.isReady ? 1 : 0)
        head(
            "gapless_status", "gauge",
            "The status of /health: 1 for the present one, 0 for others.")
        for status in Snapshot.statuses {
            sample("gapless_status", snapshot.status == status ? 1 : 0, ["status": status])
        }
        gauge(
            "gapless_draining",
            "1 while the gateway stops and sends its clients away, otherwise 0.",
            snapshot.isDraining ? 1 : 0)
        head(
            "gapless_upstream_state", "gauge",
            "The link to the chat backend: 1 for its present state, 0 for the others.")
        for state in [UpstreamState.online, .syncing, .offline] {
            sample(
                "gapless_upstream_state", snapshot.upstream.state == state ? 1 : 0,
                ["kind": snapshot.upstream.kind, "state": state.rawValue])
        }
        gauge(
            "gapless_upstream_troubled",
            "Whether something is wrong with the upstream, though it may be online.",
            snapshot.upstream.faults.trouble == nil ? 0 : 1)
        counter(
            "gapless_refused_writes_total",
            "Writes that the origin's server refused, by its reason.",
            by: "reason", snapshot.upstream.faults.refusedWrites)
        if let queue = snapshot.upstream.faults.notificationQueue {
            gauge(
                "gapless_notification_queue_percent",
                "How full the notification queue of Postgres is; a full one takes no write.",
                Int(queue * 100))
        }
        if let age = snapshot.upstream.lastEventAge {
            gauge(
                "gapless_last_event_age_seconds",
                "Seconds since the last event of the chat backend.",
                seconds: age)
        }
        counter(
            "gapless_log_lines_total",
            "Lines written to the log, by level.",
            by: "level", snapshot.log.lines)
        counter(
            "gapless_log_lines_suppressed_total", "Lines left out because they repeat.",
            snapshot.log.suppressed)
        counter(
            "gapless_log_lines_dropped_total", "Lines dropped, since the log's buffer was full.",
            snapshot.log.dropped)
    }

    fileprivate mutating func process(_ snapshot: Snapshot) {
        gauge(
            "gapless_resident_memory_bytes", "Memory that the process holds.",
            snapshot.process.residentBytes)
        counter(
            "gapless_cpu_seconds_total", "Processor time that the process has taken.",
            seconds: snapshot.process.processorSeconds)
        gauge("gapless_open_descriptors", "Open descriptors.", snapshot.process.descriptors)
        gauge(
            "gapless_descriptor_limit", "Descriptors that may be open.",
            snapshot.process.descriptorLimit)
        counter(
            "gapless_refused_connections_total",
            "Connections closed at once because there was no descriptor for them.",
            snapshot.clients.refused)
        if let days = snapshot.certificateDaysLeft {
            gauge(
                "gapless_certificate_days_left",
                "Days until the certificate of TLS expires, below zero when it has.", days)
        }
    }

    fileprivate mutating func origin(
        _ snapshot: Snapshot, _ measurements: Measurements, _ gaps: GapTable
    ) {
        counter(
            "gapless_origin_fetches_total",
            "Questions asked of the chat backend, by kind.",
            by: "kind", snapshot.figures.fetches)
        counter(
            "gapless_new_epochs_total",
            "Logs that this gateway gave a new epoch because they had lost changes, by reason.",
            by: "reason", snapshot.upstream.faults.newEpochs)
        counter(
            "gapless_origin_fetch_failures_total",
            "Questions that the chat backend did not answer.",
            measurements.failedFetches)
        gauge(
            "gapless_origin_fetches_queued",
            "Questions for the chat backend that wait for their turn.",
            snapshot.sync.queued)
        gauge(
            "gapless_origin_fetches_under_way",
            "Questions that the chat backend has not answered yet.",
            snapshot.sync.fetching)
        head(
            "gapless_open_gaps", "gauge",
            "Gaps that the gateway has still to fill, by cause and age.")
        for cause in GapCause.allCases {
            for age in GapTable.Age.allCases {
                sample(
                    "gapless_open_gaps", gaps.count(cause, age),
                    ["cause": cause.rawValue, "age": age.rawValue])
            }
        }
        head(
            "gapless_oldest_gap_seconds", "gauge", "Age of the oldest of those gaps, by cause.")
        for cause in GapCause.allCases {
            sample(
                "gapless_oldest_gap_seconds", gaps.oldest(cause), ["cause": cause.rawValue])
        }
        gauge(
            "gapless_missing_messages", "Messages that are missing in those gaps.",
            snapshot.sync.missing)
    }

    fileprivate mutating func times(_ measurements: Measurements) {
        histogram(
            "gapless_turn_seconds", "A turn of the loop: decisions, reads, writes, sockets.",
            measurements.turn)
        histogram(
            "gapless_fanout_seconds", "A change: from the upstream to the subscribers' sockets.",
            measurements.fanout)
        histogram(
            "gapless_replay_seconds", "Reading from the cache what a returning subscriber lacks.",
            measurements.replay)
        histogram(
            "gapless_origin_fetch_seconds", "A question to the chat backend, until its answer.",
            measurements.fetch)
        histogram(
            "gapless_operation_seconds",
            "A write of a client or a backend, until it is done or refused.",
            measurements.operation)
    }

    fileprivate mutating func clients(_ snapshot: Snapshot, _ measurements: Measurements) {
        gauge("gapless_connections", "Connected clients.", snapshot.clients.sessions)
        gauge("gapless_subscriptions", "Subscriptions to messages.", snapshot.clients.subscriptions)
        gauge(
            "gapless_conversations_in_memory", "Conversations held in memory.",
            snapshot.clients.streams)
        gauge(
            "gapless_outbox_bytes", "Bytes that wait for slow readers.",
            snapshot.clients.outboxBytes)
        gauge(
            "gapless_blocked_connections", "Connections whose sockets take nothing now.",
            snapshot.clients.blocked)
        counter("gapless_requests_total", "Frames of clients.", snapshot.figures.requests)
        counter(
            "gapless_request_errors_total",
            "Requests answered with an error, by code.",
            by: "code", snapshot.figures.errors)
        head("gapless_closes_total", "counter", "Connections that the gateway closed, by code.")
        for code in CloseCode.allCases {
            sample(
                "gapless_closes_total", snapshot.figures.closes[code] ?? 0,
                ["code": String(code.rawValue)])
        }
        counter(
            "gapless_resumes_total", "Subscriptions that went on from what the client held.",
            snapshot.figures.resumes)
        counter(
            "gapless_resumes_remembered_total",
            "Of these, those answered from memory, without the file.",
            snapshot.figures.remembered)
        counter(
            "gapless_resets_total",
            "Subscriptions that were told to forget what they held, by reason.",
            by: "reason", snapshot.figures.resets)
        counter(
            "gapless_sheds_total",
            "Times that queued events of a slow reader were replaced by a gap.",
            snapshot.figures.shed)
        counter(
            "gapless_rests_total",
            "Times that events of a busy conversation were delayed, to be written together.",
            snapshot.figures.pacing.heldBack)
        counter(
            "gapless_awaits_total",
            "Times that events were delayed for messages on their way to the log, or expected.",
            snapshot.figures.pacing.awaited)
        counter(
            "gapless_awaits_in_vain_total",
            "Of these, those in which none came within a millisecond.",
            snapshot.figures.pacing.awaitedInVain)
        counter(
            "gapless_gathers_total",
            "Times that the loop waited after a turn, for more requests to share the next one.",
            measurements.gathers)
    }

    fileprivate mutating func accounting(_ snapshot: Snapshot) {
        let accounting = snapshot.accounting
        counter(
            "gapless_changes_total", "Changes taken from the feed for watched conversations.",
            snapshot.figures.changes)
        counter(
            "gapless_deltas_accepted_total", "Deltas to be delivered: changes times subscribers.",
            accounting.accepted)
        counter(
            "gapless_deltas_written_total", "Deltas handed to a subscriber's socket.",
            accounting.written)
        counter(
            "gapless_deltas_coalesced_total", "Deltas that became part of a gap.",
            accounting.coalesced)
        counter(
            "gapless_deltas_discarded_total", "Deltas still queued when a connection ended.",
            accounting.discarded)
        gauge("gapless_deltas_queued", "Deltas that wait in outboxes.", accounting.queued)
        gauge(
            "gapless_accounting_error",
            "Deltas that the accounting can't explain; not 0 is a fault of the program.",
            accounting.error)
    }

    fileprivate mutating func storage(_ snapshot: Snapshot, _ measurements: Measurements) {
        gauge(
            "gapless_cache_writable", "1 while the cache's file can be written, otherwise 0.",
            snapshot.cache.isWritable ? 1 : 0)
        gauge("gapless_cache_messages", "Messages in the cache.", snapshot.cache.messages)
        gauge("gapless_cache_bytes", "Size of the cache's file.", snapshot.cache.bytes)
        if let free = snapshot.cache.freeBytes {
            gauge("gapless_disk_free_bytes", "Bytes that are free on the file's disk.", free)
        }
        gauge(
            "gapless_disk_wait_seconds",
            "How long the commit under way has waited for the disk.",
            seconds: snapshot.cache.wait / .seconds(1))
        gauge(
            "gapless_writes_under_way", "Writes of clients and backends that are not answered yet.",
            snapshot.writes.count)
        gauge(
            "gapless_oldest_write_seconds", "How long the oldest of these has waited.",
            seconds: snapshot.writes.oldest / .seconds(1))
        counter("gapless_commits_total", "Transactions committed.", snapshot.commits.count)
        counter(
            "gapless_committed_writes_total",
            "Rows of the log, or writes of the cache, in these transactions.",
            snapshot.commits.writes)
        counter(
            "gapless_failed_commits_total",
            "Transactions that failed; nothing of them is in the file.",
            snapshot.commits.failed)
        histogram(
            "gapless_commit_seconds", "A transaction of the cache, where the log lives elsewhere.",
            measurements.commit)
    }
}
