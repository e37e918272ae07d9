import TestSupport

/// Asks the gateways what became of messages while the soak goes on, and compares each answer with
/// what the guests heard: `explain` has to say of every reader what that reader's own log says.
///
/// An answer speaks of the moment in which it is given. What the gateway has told by then the guest
/// may hear a little later, so the answer is to agree with the log at some moment from then on;
/// what was lost with a connection is judged by what came before it.
final class Inquest {
    /// What is asked about: a message by its place, or by the id that somebody sends it with.
    struct Question {
        var conversation: String
        var seq: Int?
        var id: String?
        var user: String?
        /// The gateway, by its place.
        var gateway: Int
        /// The fates of which the message has to have one, where the log is not what says so.
        var expected: Set<String>?
        /// The same of the user's first reader.
        var expectedReader: Set<String>?
    }

    struct Answer {
        let question: Question
        let process: Int32
        let at: Double
        /// How much each connection had heard of the conversation.
        let heard: [String: Int]
        /// What the sender of a message knew of it.
        let attempts: [Attempts.Attempt]
        /// Whether it was sent again, or for the first time, before the answer came.
        var wasSentSince = false
        var json = JSONValue.null
        var doubts = 0
        var answered = 0.0
        var nextLook = 0.0
    }

    /// How long a guest who reads may need to hear what was told, in milliseconds.
    private static let patience: Double = 10_000
    /// How many questions one gateway is asked before it has answered.
    private static let atOnce = 6

    var listeners: [String: Listener] = [:]
    var attempts: [String: Attempts] = [:]
    private var speaksWith: [String: Int32] = [:]
    private var instances = Instances()
    /// When somebody last did not read, in milliseconds.
    private var restedAt: Double = 0
    private var asked: [Question] = []
    private var answers: [Answer] = []
    private let askers: [Asker]
    private var underWayTo: [[Int: Answer]]
    private var number = 0
    private let gateways: [GatewayProcess]
    /// Up to which place each conversation was looked at.
    private var looked: [String: Int] = [:]

    private(set) var messages = 0
    private(set) var readers = 0
    /// Agreements that took a guest a moment to hear of.
    private(set) var late = 0
    /// Told, or answered, and on its way when the connection ended.
    private(set) var underWay = 0
    /// Messages that there was no time to ask about.
    private(set) var passedOver = 0
    private(set) var disagreements = 0
    private(set) var faults: [String] = []
    /// How often which fate was given, of messages and of readers.
    private(set) var fates: [String: Int] = [:]

    /// All that there are: the table of `Tests/README.md` has them too.
    private static let allFates: Set = [
        "unknown", "earlier", "trimmed", "waiting", "refused", "repeated", "committed",
        "unwatched", "told", "written", "written_late", "queued", "coalesced", "owed", "filled",
        "resumed", "held", "fetched", "below", "watching", "left", "discarded", "left_out",
        "read_refused", "not_watching", "not_participant", "not_connected",
    ]
    /// What was never given, and what is none.
    var unmet: [String] { Self.allFates.symmetricDifference(fates.keys).sorted() }

    init(_ gateways: [GatewayProcess]) {
        self.gateways = gateways
        askers = gateways.map { Asker($0.internalPort) }
        underWayTo = gateways.map { _ in [:] }
    }

    // MARK: - What guests hear

    /// - Throws: `TestFailure` where a frame is not what the protocol allows.
    func hear(_ user: String, _ steps: [ChatTestClient.Step], port: Int) throws {
        guard !steps.isEmpty else { return }
        let process = gateways.first { $0.port == port }?.processID ?? 0
        // What came before it went was of the process that it spoke with then.
        let end = steps.lastIndex { if case .disconnected = $0 { true } else { false } }
        let first = end.map { steps.prefix(through: $0) } ?? []
        for (part, process) in [
            (first, speaksWith[user] ?? process), (steps.dropFirst(first.count), process),
        ] {
            try listeners[user, default: Listener(user: user)]
                .hear(Array(part), from: process, &instances)
            attempts[user, default: Attempts()].hear(Array(part), from: process)
        }
        speaksWith[user] = process
    }

    /// Somebody does not read now: what waits for them is heard later.
    func rests() { restedAt = Moment.now }

    // MARK: - Questions

    var isAsking: Bool { !asked.isEmpty || underWayTo.contains { !$0.isEmpty } }
    var isIdle: Bool { !isAsking && answers.isEmpty }

    func ask(_ question: Question) { asked.append(question) }

    /// Asks every gateway about each message up to `newest` that was not asked about before, and
    /// every fifth time for one user alone, so that it also speaks of who does not watch.
    func askAll(of conversation: String, upTo newest: Int, users: [String]) {
        let first = (looked[conversation] ?? max(0, newest - 50)) + 1
        looked[conversation] = max(newest, first - 1)
        guard first <= newest else { return }
        for seq in first...newest {
            for gateway in gateways.indices {
                let user = seq % 5 == gateway ? users[seq / 5 % users.count] : nil
                ask(Question(conversation: conversation, seq: seq, user: user, gateway: gateway))
            }
        }
    }

    /// What there is no time for is not asked.
    func hurry() {
        passedOver += asked.count
        asked = []
    }

    /// Asks some of what is to be asked, and judges what was answered a while ago.
    func turn() {
        take()
        var later: [Question] = []
        for question in asked {
            let isBusy = underWayTo[question.gateway].count >= Self.atOnce
            if isBusy { later.append(question) } else { put(question) }
        }
        asked = later
        judge()
    }

    private func put(_ question: Question) {
        let gateway = gateways[question.gateway]
        guard gateway.isRunning, let process = gateway.processID else { return }
        var path = "/explain?conversation=\(question.conversation)"
        if let seq = question.seq { path += "&seq=\(seq)" }
        if let id = question.id { path += "&id=\(id)" }
        if let user = question.user { path += "&user=\(user)" }
        var heard: [String: Int] = [:]
        for recollection in listeners.values.flatMap(\.all) where recollection.process == process {
            heard[recollection.session] = recollection.count(question.conversation)
        }
        number += 1
        underWayTo[question.gateway][number] = Answer(
            question: question, process: process, at: Moment.now, heard: heard,
            attempts: tries(of: question, at: process))
        askers[question.gateway].ask(number, path)
    }

    /// What the senders of a message that is asked about by its id have tried so far.
    private func tries(of question: Question, at process: Int32) -> [Attempts.Attempt] {
        guard let id = question.id else { return [] }
        return attempts.values.flatMap { $0.of(id, in: question.conversation, at: process) }
    }

    private func take() {
        for (place, gateway) in gateways.enumerated() {
            for (number, json) in askers[place].takeAnswers() {
                guard var answer = underWayTo[place].removeValue(forKey: number) else { continue }
                // It was killed meanwhile.
                guard let json, gateway.processID == answer.process else { continue }
                answer.json = json
                answer.answered = Moment.now
                answer.wasSentSince =
                    tries(of: answer.question, at: answer.process).count > answer.attempts.count
                answer.nextLook = answer.answered + 300
                answers.append(answer)
            }
        }
    }

    // MARK: - Judgement

    private func judge() {
        let now = Moment.now
        guard answers.contains(where: { $0.nextLook <= now }) else { return }
        var left: [Answer] = []
        for var answer in answers {
            guard answer.nextLook <= now else {
                left.append(answer)
                continue
            }
            var verdict = Verdict(answer, listeners)
            verdict.judge()
            if !verdict.faults.isEmpty, now < max(answer.answered, restedAt) + Self.patience {
                answer.doubts += 1
                answer.nextLook = now + 500
                left.append(answer)
                continue
            }
            note(answer, verdict)
        }
        answers = left
    }

    private func note(_ answer: Answer, _ verdict: Verdict) {
        messages += 1
        readers += verdict.judged
        underWay += verdict.underWay
        if answer.doubts > 0, verdict.faults.isEmpty { late += 1 }
        fates[answer.json["fate"].string ?? "", default: 0] += 1
        for reader in answer.json["readers"].array ?? [] {
            fates[reader["fate"].string ?? "", default: 0] += 1
        }
        disagreements += verdict.faults.count
        for fault in verdict.faults where faults.count < 20 {
            let question = answer.question
            faults.append(
                "explain, \(question.conversation) \(question.seq ?? 0) \(question.id ?? "")"
                    + " at gateway \(question.gateway): \(fault)")
        }
    }

    /// Drops connections that no journal still has.
    func forget() {
        for user in listeners.keys { listeners[user]?.forget(before: Moment.now - 900_000) }
    }

    /// Lines for the report.
    var lines: [String] {
        let share = readers == 0 ? 0 : 100 * Double(readers - disagreements) / Double(readers)
        let seen = fates.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
        return [
            "explain: asked \(messages) times, \(readers) pairs of message and reader,"
                + " \(disagreements) disagree (\(share) % agree) | under way at an end \(underWay)"
                + " | heard of later \(late) | not asked \(passedOver)",
            "explain: \(fates.count) fates: " + seen.joined(separator: ", "),
        ]
    }
}
