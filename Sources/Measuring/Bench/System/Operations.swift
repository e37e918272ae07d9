import JSON

/// The internal listener of a gateway: what it says of itself. Each question has a connection of
/// its own, as a restart ends them all.
struct Operations: Sendable {
    private let endpoint: Endpoint

    init(_ endpoint: Endpoint) { self.endpoint = endpoint }

    private func get(_ path: String) throws(BenchError) -> HTTPConnection.Response {
        try HTTPConnection(endpoint).send("GET", path)
    }

    /// Whether it is there, and takes clients.
    var isReady: Bool { (try? get("/health/ready"))?.status == 200 }

    /// What is wrong by its own account: nothing, if its books balance and it is well.
    /// - Throws: `BenchError` where it does not answer.
    func faults() throws(BenchError) -> [String] {
        let health = try? JSONObject(try get("/health").body)
        let error = health?["accounting"]?.object?["error"]?.int
        let status = health?["status"]?.string
        var faults: [String] = []
        if error != 0 { faults.append("accounting error \(error.map(String.init) ?? "unknown")") }
        if status != "ok" { faults.append("health is \(status ?? "unknown")") }
        return faults
    }

    /// One sample of its metrics, named with its labels as it is written there; nil if it has none
    /// of that name.
    /// - Throws: `BenchError` where it does not answer.
    func metric(_ name: String) throws(BenchError) -> Int? {
        let text = String(decoding: try get("/metrics").body, as: UTF8.self)
        let line = text.split(separator: "\n").first { $0.hasPrefix("\(name) ") }
        return line.flatMap { Int($0.dropFirst(name.utf8.count + 1)) }
    }

    /// How often it asked its origin for that kind of thing.
    /// - Throws: `BenchError` where it does not answer.
    func fetches(_ kind: String) throws(BenchError) -> Int {
        try metric("gapless_origin_fetches_total{kind=\"\(kind)\"}") ?? 0
    }

    /// - Throws: `BenchError` where it does not answer.
    func residentBytes() throws(BenchError) -> Int {
        try metric("gapless_resident_memory_bytes") ?? 0
    }
}
