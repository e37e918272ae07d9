import TestSupport
import Testing

extension Faults {
    /// A gateway with the usual `sync.*` that comes back far behind. A client that watched, one
    /// that resumes in the middle of its chain, and a new one have all changes, or a gap. A user
    /// who was removed meanwhile is sent nothing that was said afterwards.
    @Suite struct FarBehind {
        /// How many messages it is behind: three times `sync.pages` × `sync.page`, and many.
        static let distances = Faults.isLong ? [3000, 50_000] : [3000]
        private static let held = 100
        private static let edits = 40

        /// What one who holds something was sent.
        private final class Holding {
            let client: ChatTestClient
            private(set) var newest = 0
            private(set) var answers = 0

            init(_ gateway: GatewayProcess, _ user: String, _ holder: Holder? = nil) throws {
                client = try ChatTestClient(port: gateway.port)
                client.queuesEvents = false
                try client.connect(user: user)
                if let holder { client.hold(holder, of: "c1") }
                client.onFrame = { [unowned self] frame in
                    answers += 1
                    let body = frame["result"].isNull ? frame : frame["result"]
                    let messages =
                        (body["deltas"].array ?? []).map { $0["message"] }
                        + (body["messages"].array ?? [])
                    newest = max(newest, messages.compactMap { $0["rev"].int }.max() ?? 0)
                }
            }

            var holder: Holder { client.holder("c1") }
        }

        @Test(arguments: distances)
        func nothingIsMissedInSilenceAndNothingIsSentToWhoIsOut(_ distance: Int) throws {
            var figures = (runs: 0, resumes: 0, longest: Duration.zero, faults: 0)
            for run in 0..<Faults.scale {
                let place: Comment = "\(distance) behind, run \(run)"
                let (faults, resumes, time) = try pass(distance, place)
                #expect(faults.isEmpty, "\(place): \(faults.prefix(5).joined(separator: "\n"))")
                figures.runs += 1
                figures.resumes += resumes
                figures.longest = max(figures.longest, time)
                figures.faults += faults.count
            }
            Faults.report(
                "\(distance) messages behind | runs \(figures.runs)"
                    + " | whole after \(figures.longest.text) s"
                    + " | resumed meanwhile \(figures.resumes) | violations \(figures.faults)")
        }

        private func pass(
            _ distance: Int, _ place: Comment
        ) throws -> (faults: [String], resumes: Int, time: Duration) {
            let redis = try LinkedRedis()
            let near = try GatewayProcess(
                settings: Faults.settings.merging(redis.linkedSettings) { $1 })
            let far = try GatewayProcess(
                settings: Faults.settings.merging(redis.directSettings) { $1 })
            let api = far.api(learnsWrites: false)
            try api.put("c1", ["participants": ["alice", "bob", "mallory"]])
            try say(Self.held, api, "old")
            let (alice, mallory) = (try Holding(near, "alice"), try Holding(near, "mallory"))
            for one in [alice, mallory] {
                try one.client.subscribe("c1", limit: 1000)
                #expect(one.holder.messages.count == Self.held)
            }
            let before = alice.holder

            redis.proxy.set(.refusing)
            let isNoticed = try Deadline.standard.poll {
                for one in [alice, mallory] { try one.client.pump() }
                return try near.health("/health/ready").status == 503
            }
            #expect(isNoticed, "\(place)")
            // What a client that held it before has to be told, below all that was said since.
            for number in 1...Self.edits {
                let id = "old-\(number)"
                if number % 4 == 0 {
                    try api.delete(id, in: "c1")
                } else {
                    try api.edit(id, in: "c1", ["body": "changed"])
                }
            }
            try say(distance / 2, api, "before")
            try api.remove("mallory", from: "c1")
            let removal = try api.conversation("c1")["rev"].int ?? 0
            try say(distance - distance / 2, api, "secret")
            // The record changes once more, so that its newest value does not name the removal.
            try api.put("c1", ["title": "later"])
            let head = try api.call("POST", "/v1/heads", ["ids": ["c1"]])["heads"]["c1"]

            redis.proxy.set(.open)
            let began = ContinuousClock.now
            var late: [Holding] = []
            var everybody: [Holding] { [alice] + late }
            var next = began
            let isWhole = try Deadline.after(.seconds(60)).poll {
                // Somebody comes every few milliseconds: with what was held, or with nothing.
                if late.count < (distance > 10_000 ? 12 : 40), .now >= next {
                    next = .now + .milliseconds(15)
                    let comes = try Holding(near, "bob", late.count % 3 == 2 ? nil : before)
                    comes.client.frames = alice.client.frames
                    _ = try comes.client.send(
                        "subscribeMessages", comes.client.subscription("c1", limit: 100))
                    late.append(comes)
                }
                for one in everybody + [mallory] { try one.client.pump() }
                return everybody.allSatisfy {
                    $0.holder.isSubscribed && !$0.holder.isOpen
                        && $0.holder.asOf >= head["rev"].int ?? 0
                }
            }
            let time = ContinuousClock.now - began
            guard isWhole else {
                let stands = everybody.map { "\($0.holder.asOf)\($0.holder.isOpen ? " open" : "")" }
                return (["not whole at \(head): \(stands)"], late.count, time)
            }
            var faults: [String] = []
            let truth = try far.api().learnChanges(of: "c1")
            let oracle = Oracle(truth)
            for one in everybody { faults += oracle.check(one.holder) }
            let log = truth.log?.messages ?? []
            // What did not fit an answer is the client's own to fetch.
            for one in everybody.prefix(4) {
                try one.client.heal("c1")
                if one.holder.messages != log { faults.append("holds another log at the end") }
            }
            try mallory.client.pump()
            if mallory.newest > removal {
                faults.append("removed at \(removal), and sent what \(mallory.newest) wrote")
            }
            if mallory.holder.isSubscribed { faults.append("removed, and was not told") }
            if try near.metrics()["gapless_accounting_error"] != 0 { faults.append("the books") }
            return (faults, late.count, time)
        }

        private func say(_ count: Int, _ api: ServerAPI, _ name: String) throws {
            for start in stride(from: 1, through: count, by: 1000) {
                let lines = (start...min(count, start + 999)).map { number -> JSONValue in
                    [
                        "id": .string("\(name)-\(number)"), "author": "bob",
                        "body": .string("\(name) \(number)"),
                    ]
                }
                try api.post(lines, to: "c1")
            }
        }
    }
}
