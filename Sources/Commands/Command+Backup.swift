import Cache
import Configuration
import SQLite

/// `backup`: copies the embedded origin's log while a gateway serves it.
extension Command {
    static let backup = Command(
        name: "backup", summary: "copy the log of a running embedded origin",
        operands: "FILE",
        details: """
            Copies the file at cache.path to FILE, as it is at one moment, while the gateway goes
            on, and reads the copy through before it gets its name. FILE must not be there yet. To
            restore, stop the gateway, put the copy at cache.path, remove what lies beside it with
            -wal and -shm at the end, and start: clients that hold what the copy lacks are told to
            forget it.

            The cache of another origin is not backed up: it can be filled again.
            """,
        options: configurationOptions
    ) { arguments, console throws(CommandError) in
        guard arguments.operands.count == 1, let target = arguments.operands.first, !target.isEmpty
        else { throw .usage("backup takes one file to write to") }
        let overrides = try overrides(arguments, console.environment)
        let configuration = try configuration(arguments, overrides)
        guard configuration.upstream.kind == .embedded else {
            throw .failure(
                "upstream.kind is \(configuration.upstream.kind.rawValue): the log lies there, "
                    + "and what is here can be filled again")
        }
        let began = console.uptime()
        do throws(CacheError) {
            var told = began
            let summary = try Backup.take(of: configuration.cache.path, to: target) { copied, all in
                // Once a second, on a terminal only.
                guard console.isTerminal, all > 0, console.uptime() - told >= 1000 else { return }
                told = console.uptime()
                console.complain("\r\(copied * 100 / all) %")
            }
            if told > began { console.complain("\r") }
            console.write(
                "\(target): \(summary.messages) messages of \(summary.conversations) "
                    + "conversations, \(Words.write(size: summary.bytes))\n")
            return 0
        } catch {
            throw .failure(error.description)
        }
    }
}
