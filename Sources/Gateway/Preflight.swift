import Cache
import Configuration
import Engine
import Ports
import SQLite
import Upstream
import WebSockets

/// The checks of `checkconfig`: what `serve` would fail at before it serves, except what only the
/// origin's server can tell (its schema, say).
package enum Preflight {
    /// The problems, a sentence each; empty if `serve` would start.
    ///
    /// A running gateway with this configuration holds the file and the ports: that is no problem,
    /// or a reload could not be checked beside it.
    package static func problems(_ configuration: Configuration) -> [String] {
        var problems: [String] = []
        if let problem = Process.descriptorProblem { problems.append(problem) }
        do throws(WebSocketError) {
            // A loop needs a library that is loaded when it is made.
            _ = try ServiceLoop()
        } catch {
            problems.append("\(error)")
        }
        do throws(ConfigurationError) {
            _ = try Credentials(configuration.auth, configuration.listen)
        } catch {
            problems.append(error.description)
        }
        if configuration.upstream.kind == .redis {
            do {
                _ = try RedisOptions(configuration, bytes: configuration.limits.reply)
            } catch {
                let isOfAFile = (error as? RedisError)?.code == .tls
                problems.append(isOfAFile ? "\(error)" : "upstream.redis.url: \(error)")
            }
        }
        if configuration.upstream.kind == .postgres {
            do {
                let options = try PostgresOptions(
                    configuration, bytes: configuration.limits.reply)
                do {
                    try options.checkSchema()
                } catch {
                    problems.append("\(error)")
                }
            } catch {
                problems.append("upstream.postgres.url: \(error)")
            }
        }
        var isRunning = false
        do throws(CacheError) {
            isRunning = try Store.look(
                Store.Options(
                    path: configuration.cache.path, origin: configuration.upstream.kind.rawValue,
                    isChecked: true))
        } catch {
            problems.append("cache.path: \(error)")
        }
        for listener in Listener.all(of: configuration) {
            switch ListenerCheck.check(listener) {
            case .sound: break
            case .taken(let problem): if !isRunning { problems.append(problem) }
            case .broken(let problem): problems.append(problem)
            }
        }
        return problems
    }
}

extension Preflight {
    /// What does not stop a start, and should be looked at.
    package struct Warning: Sendable {
        let event: LogEvent
        let fields: KeyValuePairs<String, String>

        /// For `checkconfig`.
        package var text: String {
            let shown = fields.map { "\($0.key): \($0.value)" }.joined(separator: ", ")
            return event.row.text + (shown.isEmpty ? "" : " (\(shown))") + " " + event.row.remedy
        }
    }

    /// What `serve` logs when it begins.
    package static func warnings(_ configuration: Configuration) -> [Warning] {
        var warnings: [Warning] = []
        let limit = Process.descriptorLimit()
        let connections = configuration.limits.connections
        // For all connections, files and the origin.
        if connections + Process.neededDescriptors > limit {
            warnings.append(
                Warning(
                    event: .descriptorsFew,
                    fields: [
                        "limits.connections": "\(connections)", "descriptors": "\(limit)",
                    ]))
        }
        if configuration.page.enabled, PageFiles.installed() == nil {
            warnings.append(Warning(event: .pageMissing, fields: [:]))
        }
        return warnings
    }
}

extension Listener {
    /// The listeners of a gateway.
    static func all(of configuration: Configuration) -> [Listener] {
        let listen = configuration.listen
        var tls: TLSFiles?
        if let certificate = listen.tls.certificate, let key = listen.tls.key {
            tls = TLSFiles(certificate: certificate, key: key)
        }
        // The embedded origin's file has one gateway; with an origin elsewhere a successor brings
        // its own file and may share the ports.
        let isShared = configuration.upstream.kind != .embedded
        return [
            Listener(
                name: "public", address: listen.public.host, port: UInt16(listen.public.port),
                tls: tls, isShared: isShared, sparedDescriptors: 64),
            Listener(
                name: "internal", address: listen.internal.host,
                port: UInt16(listen.internal.port), serves: .http, isShared: isShared,
                countsRequests: false, needsHost: false),
        ]
    }
}
