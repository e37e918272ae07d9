import Configuration
import Engine
import Upstream

/// Postgres options from the configuration.
extension PostgresOptions {
    /// Reads the configuration.
    /// - Throws: `PostgresError`, if the URL or its file can't be used.
    init(_ configuration: Configuration, bytes: Int) throws {
        let postgres = configuration.upstream.postgres
        self.init(url: postgres.url)
        urlFile = postgres.urlFile
        schema = postgres.schema
        connections = postgres.connections
        lockTimeout = .milliseconds(postgres.lockTimeout)
        retain = postgres.retain
        retainIds = postgres.retainIds
        retainMarks = postgres.retainMarks
        self.bytes = bytes
        backoffBase = .milliseconds(configuration.sync.backoffBase)
        backoffMax = .milliseconds(configuration.sync.backoffMax)
        verifyInterval = .milliseconds(configuration.sync.verifyInterval)
        try check()
    }
}
