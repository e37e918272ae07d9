import Configuration
import Wire

/// `replay`: imports chat logs into conversations.
extension Command {
    static let replay = Command(
        name: "replay", summary: "play chat logs into a running gateway",
        operands: "FILE…",
        details: """
            A file is an IRC log ([HH:MM] <nick> text) or NDJSON ({"author": …, "body": …} a line).
            The conversation is created, with the authors as participants, if it is not there.
            Without --conversation each file is one of its own, named after the file. A message has
            an id made of file name and line: what was played before is not played twice.
            """,
        options: [
            Option(name: "conversation", value: "ID", help: "play all files into this one"),
            Option(name: "rate", value: "N", help: "messages a second; 0, as fast as it goes (0)"),
            Option(name: "batch", value: "N", help: "messages in one call, at most (500)"),
            Option(
                name: "body-limit", value: "SIZE", help: "cut longer bodies, and say so (16KiB)"),
            Option(
                name: "patience", value: "DURATION",
                help: "try again for so long when the server is busy or away (30s)"),
            Option(name: "url", value: "URL", help: "the gateway (http://127.0.0.1:8000)"),
            Option(name: "api-key-file", value: "FILE", help: "holds a key of the server API"),
        ]
    ) { arguments, console throws(CommandError) in
        let jobs = try jobs(arguments)
        let plan = try plan(arguments)
        let bodyLimit = try arguments.value(
            "body-limit", default: 16 << 10, accepted: "a size from 1B to 8MiB"
        ) { text in Words.size(text).flatMap { (1...8 << 20).contains($0) ? $0 : nil } }
        let progress = ReplayProgress(console: console)
        let start = console.uptime()
        var tally = Transcript.Tally()
        do {
            let server = try HTTPClient(base: try url(arguments), apiKey: try apiKey(arguments))
            let replay = Replay(server: server, console: console, plan: plan, progress: progress)
            for job in jobs {
                let file = try Files.read(job.file, limit: largestFile)
                let transcript = try transcript(file, job, bodyLimit)
                try replay.play(transcript, file: job.file, into: job.conversation)
                tally = tally + transcript.tally
            }
        } catch let error as CommandError {
            throw error
        } catch let error as TransportError {
            throw .failure(error.reason)
        } catch {
            throw .failure("\(error)")
        }
        console.complain(summary(progress, tally, since: start, at: console.uptime()))
        return 0
    }

    /// The largest file, more than a day of any channel; it is held in memory.
    private static let largestFile = 1 << 30

    /// One file, and where it goes.
    private struct Job {
        let file: String
        let name: String
        let conversation: String
    }

    private static func jobs(_ arguments: Arguments) throws(CommandError) -> [Job] {
        guard !arguments.operands.isEmpty else { throw .usage("replay takes at least one file") }
        let jobs = arguments.operands.map { file in
            let name = name(of: file)
            let dot = name.lastIndex(of: ".") ?? name.endIndex
            let stem = dot == name.startIndex ? name : String(name[..<dot])
            return Job(
                file: file, name: name, conversation: arguments["conversation"] ?? stem)
        }
        // Message ids are made of the file's name: with the same name, the second file's messages
        // would be taken for the first one's.
        guard Set(jobs.map(\.name)).count == jobs.count else {
            throw .usage("two files have the same name")
        }
        for job in jobs where !Identifier.isValid(job.conversation) {
            throw .usage("a conversation's id has 1 to 255 bytes without control characters")
        }
        return jobs
    }

    /// The last part of a path, made valid for an id.
    private static func name(of file: String) -> String {
        let last = file.split(separator: "/").last ?? "-"
        // 50 scalars leave room for the line number, however many bytes each takes.
        var name = String.UnicodeScalarView()
        for scalar in last.unicodeScalars.prefix(50) {
            name.append(scalar.properties.generalCategory == .control ? "_" : scalar)
        }
        return String(name)
    }

    private static func plan(_ arguments: Arguments) throws(CommandError) -> Replay.Plan {
        var plan = Replay.Plan()
        plan.rate = try arguments.value(
            "rate", default: plan.rate, accepted: "a whole number from 0 to 1000000"
        ) { text in Int(text).flatMap { (0...1_000_000).contains($0) ? $0 : nil } }
        plan.batch = try arguments.value(
            "batch", default: plan.batch, accepted: "a whole number from 1 to 1000"
        ) { text in Int(text).flatMap { (1...1000).contains($0) ? $0 : nil } }
        plan.patience = try arguments.value(
            "patience", default: plan.patience, accepted: "a duration", read: Words.duration)
        return plan
    }

    private static func url(_ arguments: Arguments) throws(CommandError) -> String {
        try arguments.value(
            "url", default: "http://127.0.0.1:8000", accepted: "http://HOST:PORT or https://…"
        ) { text in
            guard text.hasPrefix("http://") || text.hasPrefix("https://") else { return nil }
            return text.hasSuffix("/") ? String(text.dropLast()) : text
        }
    }

    /// The key of the server API that `--api-key-file` holds.
    static func apiKey(_ arguments: Arguments) throws -> String {
        let path = try arguments.required("api-key-file")
        let file = try Files.read(path, limit: 1 << 20)
        let blanks: Set<UInt8> = [0x20, 0x09, 0x0A, 0x0D]
        guard let key = file.split(whereSeparator: { blanks.contains($0) }).first,
            key.allSatisfy({ (0x21...0x7E).contains($0) })
        else { throw CommandError.failure("read \(path): no key in it (printable ASCII)") }
        return String(decoding: key, as: UTF8.self)
    }

    private static func transcript(
        _ file: [UInt8], _ job: Job, _ bodyLimit: Int
    ) throws(CommandError) -> Transcript {
        do throws(Transcript.LineError) {
            return try Transcript(file, name: job.name, bodyLimit: bodyLimit)
        } catch {
            throw .failure("\(job.file):\(error.line): \(error.reason)")
        }
    }

    private static func summary(
        _ progress: ReplayProgress, _ tally: Transcript.Tally, since start: Milliseconds,
        at end: Milliseconds
    ) -> String {
        let seconds = Double((end - start) / 100) / 10
        let files = progress.files == 1 ? "one file" : "\(progress.files) files"
        var text =
            "replayed \(progress.finished) messages of \(files) in \(seconds) s"
            + ReplayProgress.rate(progress.finished, since: start, at: end) + "\n"
        let notes = [
            (tally.system, "system lines skipped"), (tally.empty, "nicks without a text skipped"),
            (tally.unknown, "lines not understood, skipped"),
            (tally.repaired, "lines with invalid UTF-8, repaired"),
            (tally.cut, "bodies cut to the limit"),
        ]
        for (count, note) in notes where count > 0 { text += "  \(count) \(note)\n" }
        return text
    }
}
