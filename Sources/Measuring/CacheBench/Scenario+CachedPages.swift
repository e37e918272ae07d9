import Bench
import Cache
import Chat
import Engine
import JSON
import Ports
import SQLite
import Wire

/// The other half of `pages`: a page of a cache without a gateway, read and encoded, beside plain C
/// that runs the same statements on the same file.
extension Scenario {
    package static let cachedPages = Scenario(
        name: "pages", summary: "a page of the cache, beside plain C with the same statements",
        options: PagesPlan.options
    ) { options throws(BenchError) in
        let plan = try PagesPlan(options)
        return [
            Case(name: plan.name, parameters: plan.parameters, alone: "cache") {
                bench throws(BenchError) in
                let scratch = try bench.scratch()
                return try CachedPages(plan, in: scratch).trial(scratch, bench)
            }
        ]
    }
}

/// One long conversation in a file, and its pages.
private struct CachedPages {
    private let store: Store
    private let log: SampleLog
    private let plan: PagesPlan

    init(_ plan: PagesPlan, in scratch: ScratchDirectory) throws(BenchError) {
        self.plan = plan
        log = SampleLog(id: "bench", body: plan.body)
        store = try SampleCache.store("\(scratch.path)/gapless.db")
        let replica = try SampleCache.replica(store, of: [log])
        var written = 0
        while written < plan.messages {
            let last = min(plan.messages, written + 1000)
            try SampleCache.cache { () throws(CacheError) in
                try replica.perform(log.writes(written + 1...last), at: SampleLog.moment)
            }
            written = last
        }
        // Into the file, so that no page is read from the write-ahead log.
        replica.stop()
    }

    /// Two kinds of places: the newest page repeatedly, which SQLite has in memory, and pages all
    /// over the conversation, which it has not.
    func trial(
        _ scratch: ScratchDirectory, _ bench: Workbench
    ) throws(BenchError) -> Trial {
        let end = plan.messages + 1
        let stride = max(1, (plan.messages - plan.limit) / plan.stretch)
        let anywhere = (0..<plan.stretch).map { end - $0 * stride }
        let kinds = [
            ("newest", [Int](repeating: end, count: plan.stretch)), ("anywhere", anywhere),
        ]
        var trial = Trial()
        for (name, places) in kinds {
            let plain = try Plain(in: scratch) { () throws(BenchError) in
                _ = try read(places, isEncoded: false)
            }
            var reading = Rounds()
            var encoding = Rounds()
            for _ in 0..<plan.rounds {
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

    /// Reads the page before each of the places, with its own reader.
    /// - Parameter isEncoded: whether to encode the reply too.
    /// - Returns: the duration of each.
    private func read(
        _ places: [Int], isEncoded: Bool
    ) throws(BenchError) -> [Nanoseconds] {
        let reader = try SampleCache.cache { () throws(CacheError) in try Reader(store) }
        var spans: [Nanoseconds] = []
        spans.reserveCapacity(places.count)
        for place in places {
            let query = Query.page(
                conversation: log.id, PageRequest(before: .seq(place), limit: plan.limit))
            let start = Clock.now()
            let range = try Plain.span { () throws(BenchError) in
                try use(query, reader, isEncoded: isEncoded)
            }
            spans.append(Clock.now() - start)
            guard range == max(1, place - plan.limit)...place - 1 else {
                throw .failure("reading the page before \(place): not the messages below it")
            }
        }
        return spans
    }

    /// Reads a page and releases it, which is a part of its cost.
    /// - Returns: the places that it held.
    private func use(
        _ query: Query, _ reader: Reader, isEncoded: Bool
    ) throws(BenchError) -> ClosedRange<Int> {
        let page = try answer(query, reader)
        if isEncoded {
            let position = StreamPosition(
                head: page.head, asOf: page.head.rev, held: Coverage(1, plan.messages),
                now: SampleLog.moment)
            let reply = ServerFrame.reply(id: 1) { $0.page(page, position) }
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
