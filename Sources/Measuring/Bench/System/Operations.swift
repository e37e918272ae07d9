import JSON

/// A gateway's internal listener: its reports about itself. Each request has its own connection, as
/// a restart ends them all.
struct Operations: Sendable {
    private let endpoint: Endpoint

    init(_ endpoint: Endpoint) { self.endpoint = endpoint }

    private func get(_ path: String) throws(BenchError) -> HTTPConnection.Response {
        try HTTPConnection(endpoint).send("GET", path)
    }

    /// Whether it is running and accepts clients.
    var isReady: Bool { (try? get("/health/ready"))?.status == 200 }

    /// The faults that it reports of itself; empty if its accounting balances and it is healthy.
    /// - Throws: `BenchError` if it does not answer.
    func faults() throws(BenchError) -> [String] {
        let health = try? JSONObject(try get("/health").body)
        let error = health?["accounting"]?.object?["error"]?.int
        let status = health?["status"]?.string
        var faults: [String] = []
        if error != 0 { faults.append("accounting error \(error.map(String.init) ?? "unknown")") }
        if status != "ok" { faults.append("health is \(status ?? "unknown")") }
        return faults
    }

    /// One sample of its metrics, by its exact name with labels; nil if there is none.
    /// - Throws: `BenchError` if it does not answer.
    func metric(_ name: String) throws(BenchError) -> Int? {
        let text = String(decoding: try get("/metrics").body, as: UTF8.self)
        let line = text.split(separator: "\n").first { $0.hasPrefix("\(name) ") }
        return line.flatMap { Int($0.dropFirst(name.utf8.count + 1)) }
    }

    /// How many fetches of this kind it made from its origin.
    /// - Throws: `BenchError` if it does not answer.
    func fetches(_ kind: String) throws(BenchError) -> Int {
        try metric("gapless_origin_fetches_total{kind=\"\(kind)\"}") ?? 0
    }

    /// - Throws: `BenchError` if it does not answer.
    func residentBytes() throws(BenchError) -> Int {
        try metric("gapless_resident_memory_bytes") ?? 0
    }
}
