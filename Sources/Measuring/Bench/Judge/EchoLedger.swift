/// Compares each echo of a client under test with the log.
struct EchoLedger {
    /// The promises, with their names in the report.
    enum Promise: String, CaseIterable {
        case real = "values that the log never had"
        case forward = "values that were newer before"
        case gaps = "places missing without a gap"
        case order = "rows out of order or twice"
    }

    /// The values of each place, oldest first; nil is a deletion.
    private var values: [Int: [String?]] = [:]
    /// The bodies that the client was asked to send; the client is the first to learn their places.
    private var sent: Set<String> = []
    /// By place, the index of the value that was shown last.
    private var shown: [Int: Int] = [:]
    private(set) var rows: [Examinee.Row] = []
    private(set) var echoes = 0
    private(set) var faults: [Promise: Int] = [:]
    /// Where the first fault of each kind occurred.
    private(set) var first: [Promise: String] = [:]

    mutating func said(_ body: String?, at seq: Int) { values[seq, default: []].append(body) }
    mutating func willSend(_ body: String) { sent.insert(body) }

    /// Checks what is shown now.
    mutating func take(_ rows: [Examinee.Row]) {
        self.rows = rows
        echoes += 1
        var last: Int?
        var gap: (after: Int, before: Int)?
        for row in rows {
            switch row {
            case .gap(let after, let before): gap = (after, before)
            case .message(let seq, let body):
                judge(seq, body)
                if let last {
                    if seq <= last {
                        fault(.order, "place \(seq) below place \(last)")
                    } else if seq > last + 1, gap?.after ?? .max > last || gap?.before ?? 0 < seq {
                        fault(.gaps, "places \(last + 1) to \(seq - 1)")
                    }
                }
                (last, gap) = (seq, nil)
            }
        }
    }

    private mutating func judge(_ seq: Int, _ body: String?) {
        if values[seq] == nil, let body, sent.contains(body) { values[seq] = [body] }
        // A body that the place had before counts as its latest occurrence.
        guard let at = values[seq]?.lastIndex(of: body) else {
            return fault(.real, "place \(seq)")
        }
        if at < shown[seq] ?? 0 { fault(.forward, "place \(seq)") }
        shown[seq] = max(at, shown[seq] ?? 0)
    }

    private mutating func fault(_ promise: Promise, _ place: String) {
        faults[promise, default: 0] += 1
        first[promise] = first[promise] ?? "echo \(echoes), \(place)"
    }
}
