import CPostgres

/// The servers that a URL names; libpq uses the first that will do.
package struct PostgresHosts: Sendable {
    package struct Host: Sendable, Hashable {
        package var name: String
        package var port: String
    }

    /// In the order of the URL; empty if the host comes from elsewhere (a service file, a numeric
    /// address beside the name, the environment).
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
        var values: [String: String] = [:]
        var at = options
        while let keyword = at.pointee.keyword {
            if let value = at.pointee.val {
                values[String(cString: keyword)] = String(cString: value)
            }
            at += 1
        }
        guard values["hostaddr"] == nil, values["service"] == nil, let hosts = values["host"] else {
            all = []
            return
        }
        let names = hosts.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        let ports = (values["port"] ?? "5432")
            .split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        all = names.enumerated().map { place, name in
            Host(name: name, port: ports.count == names.count ? ports[place] : ports[0])
        }
    }
}
