import CPostgres

/// The servers that a URL names; libpq uses the first that will do.
package struct PostgresHosts: Sendable {
    package struct Host: Sendable, Hashable {
        package var name: String
        package var port: String
        /// Its address, where it is said beside the name.
        package var address: String?
    }

    /// In their order; empty if libpq takes its default. A service file or the environment may name
    /// them too.
    package let all: [Host]

    /// - Throws: `PostgresError.url`, if libpq does not accept the URL. The message never contains
    ///   it.
    package init(_ url: String) throws(PostgresError) {
        guard let options = PQconninfoParse(url, nil) else {
            throw PostgresError(
                .url, doing: "read", on: "upstream.postgres.url", seen: "libpq does not take it",
                detail: "accepted: postgres://user@host:port/database, or key=value words")
        }
        defer { PQconninfoFree(options) }
        var values = Self.values(options)
        if values["host"] == nil || values["service"] != nil {
            values.merge(Self.resolved(url)) { $1 }
        }
        func list(_ key: String) -> [String] {
            (values[key] ?? "").split(separator: ",", omittingEmptySubsequences: false)
                .map(String.init)
        }
        let (names, addresses, ports) = (list("host"), list("hostaddr"), list("port"))
        all = (0..<max(names.count, addresses.count)).compactMap { place in
            let name = names.indices.contains(place) ? names[place] : ""
            let address = addresses.indices.contains(place) ? addresses[place] : ""
            guard !name.isEmpty || !address.isEmpty else { return nil }
            let port = ports.indices.contains(place) ? ports[place] : ports.first ?? ""
            return Host(
                name: name.isEmpty ? address : name, port: port.isEmpty ? "5432" : port,
                address: address.isEmpty ? nil : address)
        }
    }

    /// What libpq makes of the URL, with the service file and the environment. It says so only of a
    /// connection that it has begun; that one ends at once.
    private static func resolved(_ url: String) -> [String: String] {
        let begun = url.withCString { text in
            "dbname".withCString { PQconnectStartParams([$0, nil], [text, nil], 1) }
        }
        defer { PQfinish(begun) }
        guard let options = PQconninfo(begun) else { return [:] }
        defer { PQconninfoFree(options) }
        return values(options)
    }

    private static func values(
        _ options: UnsafeMutablePointer<PQconninfoOption>
    ) -> [String: String] {
        var values: [String: String] = [:]
        var at = options
        while let keyword = at.pointee.keyword {
            if let value = at.pointee.val, value.pointee != 0 {
                values[String(cString: keyword)] = String(cString: value)
            }
            at += 1
        }
        return values
    }
}
