import Foundation
import TestSupport
import Testing

extension LiveGateway {
    /// A client comes back with any `have` that was ever true, and with some that never were.
    @Suite struct Resuming {
        @Test func anyHaveIsMadeExact() throws {
            let seed = LiveGateway.seed(4)
            var random = SplitMix64(seed: seed)
            let gateway = try GatewayProcess(settings: [
                "limits.requests_per_second": "10000"
            ])
            let past = try PastLog("ops", gateway.api(), participants: ["alice"])
            for _ in 0..<200 { try past.write(&random) }
            let client = try gateway.client("alice")
            for number in 0..<400 * LiveGateway.scale {
                let place = "case \(number), seed \(seed)"
                if random.happens(5) { try client.reconnect() }
                let holder = past.holder(&random)
                try #require(past.oracle.check(holder) == [], "the made up holder, \(place)")
                let limit = Int.random(in: 1...(random.happens(50) ? 10 : 1000), using: &random)
                client.hold(holder, of: "ops")
                let answer = try client.subscribe("ops", limit: limit)
                expect(answer, of: holder, limit, client.holder("ops"), past, place)
                try follow(past, client, place, &random)
                try client.request("unsubscribeMessages", ["conversation": "ops"])
            }
        }

        /// What the answer itself must be, and what the client holds after it.
        private func expect(
            _ answer: JSONValue, of before: Holder, _ limit: Int, _ after: Holder, _ past: PastLog,
            _ place: String
        ) {
            #expect(answer["reset"].bool != true && answer["open"].bool != true, "\(place)")
            #expect(past.oracle.check(after) == [], "\(place)")
            #expect(after.asOf == past.log.headRev, "\(place)")
            let messages = (answer["deltas"].array ?? []).map { $0["message"] }
            #expect(messages.count <= limit, "\(place)")

            // First what changed in what it holds, then what is new above, each newest first.
            let top = before.runs.ranges.last?.upperBound ?? 0
            let (changed, new) = (
                messages.prefix { $0["seq"].int ?? 0 <= top },
                messages.drop { $0["seq"].int ?? 0 <= top }
            )
            let revs = changed.compactMap { $0["rev"].int }
            let seqs = new.compactMap { $0["seq"].int }
            #expect(revs == revs.sorted(by: >), "\(place)")
            #expect(seqs == seqs.sorted(by: >) && !seqs.contains { $0 <= top }, "\(place)")

            // Nothing is missing silently, and nothing is named twice.
            var named = Intervals()
            for gap in answer["gaps"].array ?? [] {
                let (low, high) = ((gap["after"].int ?? 0) + 1, (gap["before"].int ?? 0) - 1)
                #expect(low <= high && gap["missing"].int == high - low + 1, "\(place)")
                #expect(["limit", "cold"].contains(gap["cause"].string), "\(place)")
                #expect(Intervals([low...max(low, high)]).subtracting(named).ranges.count == 1)
                named.insert(low...max(low, high))
            }
            let low = before.runs.ranges.first?.lowerBound ?? 1
            #expect(after.missing(from: low).subtracting(named).isEmpty, "\(place)")
            let limited = answer["gaps"].array?.count { $0["cause"] == "limit" } ?? 0
            #expect(limited <= 16, "\(place)")

            // What fits is not left out.
            let due = past.log.revs.count { slot, revs in
                slot > top || (before.runs.contains(slot) && (revs.last ?? 0) > before.asOf)
            }
            if due <= limit {
                #expect(limited == 0 && messages.count == due, "\(place): \(due) were due")
                #expect(before.runs.subtracting(after.runs).isEmpty, "\(place)")
            }
        }

        /// Lives on with the subscription, fills the gaps, and ends with what the log has.
        private func follow(
            _ past: PastLog, _ client: ChatTestClient, _ place: String, _ random: inout SplitMix64
        ) throws {
            if random.happens(40) { try past.write(&random) }
            let isThere = try client.wait { $0.holder("ops").asOf == past.log.headRev }
            #expect(isThere, "\(place)")
            #expect(past.oracle.check(client.holder("ops")) == [], "\(place)")
            let low = client.holder("ops").runs.ranges.first?.lowerBound ?? 1
            try client.heal("ops", from: low) { Int.random(in: 20...300, using: &random) }
            #expect(past.oracle.check(client.holder("ops")) == [], "\(place)")
            let isExact =
                client.holder("ops").messages == Array(past.log.messages.dropFirst(low - 1))
            #expect(isExact, "\(place)")
            let record = client.holder("ops").record
            #expect(record?["rev"].int == past.log.revs[0]?.last, "\(place)")
        }

        @Test func aHaveThatTheLogDoesNotConfirmIsReset() throws {
            var random = SplitMix64(seed: LiveGateway.seed(5))
            let gateway = try GatewayProcess()
            let past = try PastLog("ops", gateway.api(), participants: ["alice"])
            for _ in 0..<30 { try past.write(&random) }
            let head = try #require(past.heads.last)
            let rev = try #require(head["rev"].int)
            let lies: [(String, JSONValue)] = [
                ("epoch", "another"), ("mark", "another"), ("rev", .int(rev + 1)),
            ]
            for (field, lie) in lies {
                let client = try gateway.client("alice")
                var untrue = head
                untrue[field] = lie
                let messages = Dictionary(
                    uniqueKeysWithValues: past.log.messages.map { ($0["seq"].int ?? 0, $0) })
                client.hold(
                    Holder(head: untrue, asOf: rev, held: messages, record: nil), of: "ops")
                let answer = try client.subscribe("ops", limit: 7)
                #expect(answer["reset"].bool == true, "\(field)")
                #expect(answer["deltas"].array?.count == 7, "\(field)")
                #expect(answer["gaps"].array == [], "\(field)")
                #expect(client.holder("ops").messages == past.log.messages.suffix(7), "\(field)")
            }
        }

        /// The file is put back from an older copy, and other changes get the same numbers.
        @Test func aLogThatWasPutBackResetsWhoSawMore() throws {
            let gateway = try GatewayProcess()
            let post = { (body: JSONValue) in
                _ = try gateway.api().post(["author": "alice", "body": body], to: "ops")
            }
            try gateway.api().put("ops", ["participants": ["alice"]])
            try post("kept")
            #expect(try gateway.terminate() == 0)
            let file = gateway.directory.appendingPathComponent("gapless.db").path
            try FileManager.default.copyItem(atPath: file, toPath: file + "-copy")
            try gateway.start()
            try post("lost")
            let client = try gateway.client("alice")
            try client.subscribe("ops")
            client.disconnect()
            #expect(try gateway.terminate() == 0)
            try FileManager.default.removeItem(atPath: file)
            try FileManager.default.copyItem(atPath: file + "-copy", toPath: file)
            try gateway.start()
            try post("new")

            try client.reconnect()
            #expect(try client.subscribe("ops")["reset"].bool == true)
            #expect(client.holder("ops").messages.map { $0["body"] } == ["kept", "new"])
        }

        @Test func changesMadeWhileAwayReachTheClient() throws {
            let gateway = try GatewayProcess()
            let api = gateway.api()
            try api.put("ops", ["title": "Ops", "participants": ["alice", "bob"]])
            let sent = try api.post(
                (1...5).map { ["author": "bob", "body": .string("\($0)")] }, to: "ops")
            let ids = sent.compactMap { $0["id"].string }
            let client = try gateway.client("alice")
            try client.subscribe("ops")
            client.disconnect()

            try api.edit(ids[1], in: "ops", ["body": "two"])
            try api.delete(ids[2], in: "ops")
            try api.put("ops", ["title": "Operations"])
            try api.add("carol", to: "ops")
            try api.remove("bob", from: "ops")
            try api.post(["author": "carol", "body": "6"], to: "ops")
            try client.reconnect()
            let answer = try client.subscribe("ops")

            let told = (answer["deltas"].array ?? []).map {
                [$0["type"].string, $0["message"]["body"].string]
            }
            #expect(Set(told) == [["updated", "two"], ["deleted", nil], ["inserted", "6"]])
            #expect(answer["conversation"]["title"] == "Operations")
            #expect(answer["conversation"]["participants"] == ["alice", "carol"])
            let bodies = client.holder("ops").messages.map { $0["body"].string }
            #expect(bodies == ["1", "two", nil, "4", "5", "6"])
            #expect(Oracle(try api.learnChanges(of: "ops")).check(client.holder("ops")) == [])
        }
    }
}
