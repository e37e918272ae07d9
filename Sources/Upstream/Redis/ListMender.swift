import Crypto
import Dispatch
import Ports
import Synchronization
import Wire

/// Rebuilds damaged lists by asking all conversations who takes part: a walk over the keys of all
/// servers, in steps with pauses, for many lists at once. It decides nothing: who joins meanwhile
/// is in the list, a superfluous entry is found by readers, and several gateways may do it at once.
/// Any thread.
///
/// In a cluster a walk can miss a conversation that moves from a node not yet walked to one already
/// walked, so it counts only if the layout is the same at its end. The map does not show a slot
/// that is migrating all the time.
final class ListMender: Sendable {
    /// The most lists of one walk.
    private static let together = 50

    /// The pause between two steps of a walk, each about half a millisecond of a server's work.
    private static let pause = DispatchTimeInterval.milliseconds(2)

    /// The wait after a failed walk.
    private static let patience = DispatchTimeInterval.seconds(1)

    typealias Completion = @Sendable (Result<Int, RequestError>) -> Void

    /// A list to rebuild.
    struct Need: Sendable {
        let user: String
        /// Whether a key of another type is removed.
        var clears = false
        /// Whether the log of its departures begins anew, which knew of more than the list had.
        var renewsLog = false
        /// Called at the end with the number of conversations; nil if nobody waits.
        var waiting: Completion?
    }

    private struct State {
        var needs: [Need] = []
        /// All damaged lists, including those being rebuilt.
        var cut: Set<ID> = []
        var isAtWork = false
        /// How many lists go one by one, after one of a walk could not be rebuilt.
        var alone = 0
        var isStopped = false
        weak var servers: (any RedisServers)?
    }

    let keys: RedisKeys
    /// A pattern for the `members` keys of all conversations.
    let pattern: [UInt8]
    let queue = DispatchQueue(label: "gapless.redis.lists")
    private let notice: @Sendable (UpstreamNotice) -> Void
    private let state = Mutex(State())
    /// Whether there are damaged lists: a fast check without the lock.
    private let areThere = Atomic(false)

    init(_ options: RedisOptions, notice: @escaping @Sendable (UpstreamNotice) -> Void) {
        keys = RedisKeys(options)
        pattern = options.pattern(of: "{*}:members")
        self.notice = notice
    }

    /// To be called once, before the servers start.
    func attach(_ servers: any RedisServers) { state.withLock { $0.servers = servers } }

    func stop() {
        state.withLock { state in
            state.isStopped = true
            state.needs = []
        }
    }

    /// Rebuilds the user's damaged list.
    func mend(_ user: String) { mend(Need(user: user)) }

    func mend(_ need: Need) {
        areThere.store(true, ordering: .relaxed)
        let isNews = state.withLock { state in
            let isNews = state.cut.insert(need.user.id).inserted
            if isNews || need.waiting != nil { state.needs.append(need) }
            return isNews
        }
        if isNews { notice(UpstreamNotice(.listDamaged, Self.text(need.user))) }
        begin()
    }

    /// The list was read and is whole.
    func isWhole(_ user: String) {
        guard areThere.load(ordering: .relaxed) else { return }
        end(user)
    }

    private func end(_ user: String) {
        let wasCut = state.withLock { state in
            let wasCut = state.cut.remove(user.id) != nil
            areThere.store(!state.cut.isEmpty, ordering: .relaxed)
            return wasCut
        }
        if wasCut {
            notice(UpstreamNotice(.listWhole, "the list of user \(user) is whole again"))
        }
    }

    private static func text(_ user: String) -> String {
        "the list of user \(user) in Redis is gone, cut or another's; it is put together again from"
            + " the conversations, and is not answered before"
    }

    /// For health; nil if all is well.
    var trouble: UpstreamNotice? {
        let cut = state.withLock { $0.cut }
        guard let user = cut.min(by: { $0.text < $1.text }) else { return nil }
        let more = cut.count > 1 ? " (and \(cut.count - 1) more)" : ""
        return UpstreamNotice(.listDamaged, Self.text(user.text) + more)
    }

    // MARK: walks

    private func begin() {
        let walk = state.withLock { state -> ListWalk? in
            guard !state.isAtWork, !state.isStopped, !state.needs.isEmpty,
                let servers = state.servers
            else { return nil }
            state.isAtWork = true
            let needs = Array(state.needs.prefix(state.alone > 0 ? 1 : Self.together))
            state.needs.removeFirst(needs.count)
            state.alone = max(0, state.alone - needs.count)
            return ListWalk(needs, servers, keys, pattern)
        }
        walk?.begin(pausing: { [queue] next in
            queue.asyncAfter(deadline: .now() + Self.pause, execute: next)
        }) { needs, result in self.ended(needs, result) }
    }

    private func ended(_ needs: [Need], _ result: Result<[Int], RequestError>) {
        state.withLock { $0.isAtWork = false }
        switch result {
        case .success(let counts):
            for (need, count) in zip(needs, counts) {
                end(need.user)
                need.waiting?(.success(count))
            }
            begin()
        case .failure(let error):
            for need in needs { need.waiting?(.failure(error)) }
            var rest = needs.filter { $0.waiting == nil }
            // A key of another type stays until an operator clears it; readers get an error.
            let isType = error == .damagedKey
            if isType, needs.count == 1, let need = rest.popLast() {
                state.withLock { _ = $0.cut.remove(need.user.id) }
            }
            state.withLock { [rest] state in
                if isType { state.alone += rest.count }
                state.needs = state.isStopped ? [] : rest + state.needs
            }
            queue.asyncAfter(deadline: .now() + Self.patience) { self.begin() }
        }
    }
}

/// One walk through all conversations, for some lists. It lives as long as a command of it is in
/// flight.
final class ListWalk: Sendable {
    private struct State {
        /// The tags noted in the logs of departures, in the order of the needs.
        var tags: [[UInt8]] = []
        var found: [Set<[UInt8]>]
        var layout: RedisLayout?
    }

    private typealias Step = @Sendable () -> Void

    /// The most conversations entered by one command.
    private static let piece = 500

    private let needs: [ListMender.Need]
    private let servers: any RedisServers
    private let keys: RedisKeys
    private let pattern: [UInt8]
    private let state: Mutex<State>

    init(
        _ needs: [ListMender.Need], _ servers: any RedisServers, _ keys: RedisKeys,
        _ pattern: [UInt8]
    ) {
        self.needs = needs
        self.servers = servers
        self.keys = keys
        self.pattern = pattern
        state = Mutex(State(found: Array(repeating: [], count: needs.count)))
    }

    /// - Parameters:
    ///   - pausing: runs a closure after a pause.
    ///   - ended: gets the number of conversations of each list, or the error.
    func begin(
        pausing: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void,
        ended: @escaping @Sendable ([ListMender.Need], Result<[Int], RequestError>) -> Void
    ) {
        let fail: @Sendable (RequestError) -> Void = { ended(self.needs, .failure($0)) }
        note(or: fail) {
            self.relist(
                self.needs.map { [$0.clears ? "clear" : $0.renewsLog ? "renew" : "begin"] },
                or: fail
            ) { _ in
                let layout = self.servers.layout
                self.state.withLock { $0.layout = layout }
                guard layout.isWhole else { return fail(.originUnavailable) }
                self.walk(layout.anchors[...], from: Array("0".utf8), pausing, or: fail) {
                    self.enter(or: fail) { ended(self.needs, .success($0)) }
                }
            }
        }
    }

    /// Notes a tag for each list that has none.
    private func note(or fail: @escaping @Sendable (RequestError) -> Void, then: @escaping Step) {
        let commands = needs.map { keys.vouching(for: Array(Random.hex(8).utf8), of: $0.user) }
        send(commands, or: fail) { replies in
            let tags = replies.map { $0.elements.count > 1 ? $0.elements[1].bytes ?? [] : [] }
            self.state.withLock { $0.tags = tags }
            then()
        }
    }

    private func relist(
        _ steps: [[String]], or fail: @escaping @Sendable (RequestError) -> Void,
        then: @escaping @Sendable ([RedisReply]) -> Void
    ) {
        let tags = state.withLock { $0.tags }
        let commands = zip(needs, zip(steps, tags)).filter { !$1.0.isEmpty }.map { need, part in
            let (words, tag) = part
            var arguments = words.map { Array($0.utf8) }
            arguments.insert(tag, at: 1)
            return RedisCommand.script(
                .relist, keys: [keys.list(of: need.user)], arguments: arguments)
        }
        send(commands, or: fail, then: then)
    }

    /// - Parameter cursor: the position of the walk at the first of the servers.
    private func walk(
        _ anchors: ArraySlice<String>, from cursor: [UInt8],
        _ pausing: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void,
        or fail: @escaping @Sendable (RequestError) -> Void, then: @escaping Step
    ) {
        guard let anchor = anchors.first else { return then() }
        let users = needs.map { Array($0.user.utf8) }
        let step = RedisCommand.script(
            .seek, keys: [keys.anchor(anchor)], arguments: [cursor, pattern] + users)
        send([step], or: fail) { replies in
            let parts = replies[0].elements
            self.take(parts.count > 2 ? parts[2].elements : [])
            let next = parts.count > 1 ? parts[1].bytes ?? [] : []
            guard !next.isEmpty else { return fail(.originUnavailable) }
            let isDone = next == Array("0".utf8)
            pausing {
                self.walk(
                    isDone ? anchors.dropFirst() : anchors, from: next, pausing, or: fail,
                    then: then)
            }
        }
    }

    private func take(_ found: [RedisReply]) {
        state.withLock { state in
            for at in stride(from: 0, to: found.count - found.count % 2, by: 2) {
                guard let key = found[at].bytes, let user = found[at + 1].int,
                    state.found.indices.contains(user - 1)
                else { continue }
                state.found[user - 1].insert(key)
            }
        }
    }

    /// Enters the conversations found, if the layout did not change during the walk.
    private func enter(
        or fail: @escaping @Sendable (RequestError) -> Void,
        then: @escaping @Sendable ([Int]) -> Void
    ) {
        let (found, layout) = state.withLock { ($0.found, $0.layout) }
        guard layout == servers.layout else { return fail(.originUnavailable) }
        let ids = found.map { $0.map { keys.conversation(ofKey: $0) } }
        let longest = ids.map(\.count).max() ?? 0
        let steps = stride(from: 0, to: longest, by: Self.piece).map { from in
            ids.map { ids -> [String] in
                let part = ids.dropFirst(from).prefix(Self.piece)
                return part.isEmpty ? [] : ["put"] + part
            }
        }
        enter(steps[...], or: fail) { self.count(or: fail, then: then) }
    }

    /// The logs that begin anew end before their lists count as whole: a reader between the two
    /// would be answered by the log of before.
    private func count(
        or fail: @escaping @Sendable (RequestError) -> Void,
        then: @escaping @Sendable ([Int]) -> Void
    ) {
        endLogs(or: fail) { self.countEntries(or: fail, then: then) }
    }

    private func countEntries(
        or fail: @escaping @Sendable (RequestError) -> Void,
        then: @escaping @Sendable ([Int]) -> Void
    ) {
        relist(needs.map { _ in ["end"] }, or: fail) { replies in
            let counts = replies.compactMap { $0.elements.count > 1 ? $0.elements[1].int : nil }
            guard counts.count == self.needs.count else { return fail(.originUnavailable) }
            // A list without a log of departures gets one now, so that an older token is not taken
            // for a sign of loss.
            let logs = self.needs.map {
                RedisCommand.script(
                    .depart, keys: self.keys.departures(of: $0.user),
                    arguments: [Random.bytes(8), [], Random.bytes(8), Array("0".utf8)])
            }
            self.send(logs, or: fail) { _ in then(counts) }
        }
    }

    /// Ends the logs that begin anew: without its newest place a log is none.
    private func endLogs(or fail: @escaping @Sendable (RequestError) -> Void, then: @escaping Step)
    {
        let ends = needs.filter(\.renewsLog).map {
            RedisCommand.words([
                Array("HDEL".utf8), keys.departures(of: $0.user)[0], Array("seq".utf8),
            ])
        }
        guard !ends.isEmpty else { return then() }
        Payer.$current.withValue(.gateway) {
            servers.send(ends) { result in
                if case .failure(let error) = result { return fail(error) }
                then()
            }
        }
    }

    private func enter(
        _ steps: ArraySlice<[[String]]>, or fail: @escaping @Sendable (RequestError) -> Void,
        then: @escaping Step
    ) {
        guard let step = steps.first else { return then() }
        relist(step, or: fail) { _ in self.enter(steps.dropFirst(), or: fail, then: then) }
    }

    /// Sends commands that count for no user; an error reply is a failure.
    private func send(
        _ commands: [RedisCommand], or fail: @escaping @Sendable (RequestError) -> Void,
        then: @escaping @Sendable ([RedisReply]) -> Void
    ) {
        Payer.$current.withValue(.gateway) {
            servers.send(commands) { result in
                switch result {
                case .failure(let error): fail(error)
                case .success(let replies):
                    let isDone = replies.allSatisfy {
                        $0.errorCode == nil && $0.elements.first?.string == "done"
                    }
                    guard isDone else {
                        let isTyped = replies.contains { $0.errorCode == "WRONGTYPE" }
                        return fail(isTyped ? .damagedKey : .originUnavailable)
                    }
                    then(replies)
                }
            }
        }
    }
}
