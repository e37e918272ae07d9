import Bench
import Cache
import Chat
import Engine
import JSON
import Wire

/// The other half of `pages`: a page of a cache without a gateway around it, read and encoded, and
/// beside it plain C that runs the same statements on the same file.
extension Scenario {
    package static let cachedPages = Scenario(
        name: "pages", summary: "a page of the cache, beside plain C with the same statements",
        options: [
            .init(name: "messages", value: "N", help: "in the conversation (100000)"),
            .init(name: "limit", value: "N", help: "messages of a page (100)"),
            .init(name: "stretch", value: "PAGES", help: "pages of a place (50)"),
            .init(name: "rounds", value: "N", help: "how often each is read (20)"),
            .init(name: "body", value: "BYTES", help: "length of a message's text (40)"),
        ]
    ) { options throws(BenchError) in
        let messages = try options.int("messages", default: 100_000, in: 10...10_000_000)
        let limit = try options.int("limit", default: 100, in: 1...1000)
        let stretch = try options.int("stretch", default: 50, in: 1...100_000)
        let rounds = try options.int("rounds", default: 20, in: 1...100_000)
        let body = try options.int("body", default: 40, in: 1...16_384)
        let parameters = [
            ("messages", messages), ("limit", limit), ("stretch", stretch), ("rounds", rounds),
            ("bodyBytes", body),
        ]
        return [
            Case(name: "M=\(messages) limit \(limit)", parameters: parameters, alone: "cache") {
                bench throws(BenchError) in
                let log = SampleLog(id: "bench", body: String(repeating: "x", count: body))
                let scratch = try bench.scratch()
                let pages = try CachedPages(log, messages, limit, in: scratch)
                return try pages.trial(stretch: stretch, rounds: rounds, scratch, bench)
            }
        ]
    }
}

/// One long conversation in a file, and the pages of it.
private struct CachedPages {
    private let store: Store
    private let log: SampleLog
    private let messages: Int
    private let limit: Int

    init(
        _ log: SampleLog, _ messages: Int, _ limit: Int, in scratch: ScratchDirectory
    ) throws(BenchError) {
        self.log = log
        self.messages = messages
        self.limit = limit
        store = try SampleCache.store("\(scratch.path)/gapless.db")
        let mirror = try SampleCache.mirror(store, of: [log])
        var written = 0
        while written < messages {
            let last = min(messages, written + 1000)
            try SampleCache.cache { () throws(CacheError) in
                try mirror.perform(log.writes(written + 1...last), at: SampleLog.moment)
            }
            written = last
        }
        // Into the file, so that no page comes out of the log of writes.
        mirror.stop()
    }

    /// Two kinds of places: the newest page again and again, which SQLite has in its memory, and
    /// pages all over the conversation, which it has not.
    func trial(
        stretch: Int, rounds: Int, _ scratch: ScratchDirectory, _ bench: Workbench
    ) throws(BenchError) -> Trial {
        let end = messages + 1
        let stride = max(1, (messages - limit) / stretch)
        let anywhere = (0..<stretch).map { end - $0 * stride }
        let kinds = [
            ("newest", [Int](repeating: end, count: stretch)), ("anywhere", anywhere),
        ]
        var trial = Trial()
        for (name, places) in kinds {
            let plain = try Plain(in: scratch) { () throws(BenchError) in
                _ = try read(places, isEncoded: false)
            }
            var reading = Rounds()
            var encoding = Rounds()
            for _ in 0..<rounds {
                let other = try plain.replay(on: store.options.path, checkpointsEvery: 0, bench)
                guard other.count == places.count else {
                    throw .failure("plain C: \(other.count) pages of \(places.count)")
                }
                reading.add(
                    own: try read(places, isEncoded: false), plain: other, by: .median)
                encoding.add(own: try read(places, isEncoded: true), plain: other, by: .median)
            }
            trial.add("\(name)Read", reading.own.median, "µs")
            trial.add("\(name)Plain", reading.plain.median, "µs")
            trial.add("\(name)Ratio", reading.ratios.median, "×")
            trial.add("\(name)Reply", encoding.own.median, "µs")
        }
        return trial
    }

    /// Reads the page before each of the places, by a reader of its own.
    /// - Parameter isEncoded: up to the bytes of the reply.
    /// - Returns: how long each took.
    private func read(
        _ places: [Int], isEncoded: Bool
    ) throws(BenchError) -> [Nanoseconds] {
        let reader = try SampleCache.cache { () throws(CacheError) in try Reader(store) }
        var spans: [Nanoseconds] = []
        spans.reserveCapacity(places.count)
        for place in places {
            let query = Query.page(
                conversation: log.id, PageRequest(before: .seq(place), limit: limit))
            let start = Clock.now()
            let range = try Plain.span { () throws(BenchError) in
                try use(query, reader, isEncoded: isEncoded)
            }
            spans.append(Clock.now() - start)
            guard range == max(1, place - limit)...place - 1 else {
                throw .failure("reading the page before \(place): not the messages below it")
            }
        }
        return spans
    }

    /// Reads a page and lets go of it, which is a part of what it costs.
    /// - Returns: the places that it held.
    private func use(
        _ query: Query, _ reader: Reader, isEncoded: Bool
    ) throws(BenchError) -> ClosedRange<Int> {
        let page = try answer(query, reader)
        if isEncoded {
            let standing = Standing(
                head: page.head, asOf: page.head.rev, held: Coverage(1, messages),
                now: SampleLog.moment)
            let reply = ServerFrame.reply(id: 1) { $0.page(page, standing) }
            guard reply.count > page.messages.count else {
                throw .failure("encoding a page: nothing came of it")
            }
        }
        guard let first = page.messages.first, let last = page.messages.last else {
            throw .failure("reading a page: it is empty")
        }
        return last.seq...first.seq
    }

    private func answer(_ query: Query, _ reader: Reader) throws(BenchError) -> Page {
        do {
            if case .page(let page) = try reader.answer(query) { return page }
        } catch {
            throw .failure("\(error)")
        }
        throw .failure("reading a page: another answer came")
    }
}
