// Reading a conversation by pages, each of which is checked for what it says of itself.
extension ChatTestClient {
    /// Walks from the newest message back to the first, page by page.
    ///
    /// - Parameter limit: of the next page.
    /// - Returns: The messages, oldest first.
    /// - Throws: `TestFailure` where a page is not what was asked for.
    package func walkBack(_ conversation: String, limit: () -> Int) throws -> [JSONValue] {
        var newestFirst: [JSONValue] = []
        var params: JSONValue = ["conversation": .string(conversation)]
        while true {
            let limit = limit()
            params["limit"] = .int(limit)
            let page = try request("fetchMessages", params)
            let messages = page["messages"].array ?? []
            let seqs = messages.compactMap { $0["seq"].int }
            let last = newestFirst.last?["seq"].int ?? (page["head"]["seq"].int ?? 0) + 1
            guard seqs == Array((last - seqs.count..<last).reversed()), seqs.count <= limit else {
                throw TestFailure("a page of \(limit) before \(last) has other places: \(seqs)")
            }
            newestFirst += messages
            guard page["hasMore"]["before"].bool == true else { return newestFirst.reversed() }
            guard let oldest = seqs.last else {
                throw TestFailure("a page before \(last) is empty and says that there is more")
            }
            params["before"] = .int(oldest)
        }
    }

    /// Asks for all that the client lacks between `low` and the head, until it lacks nothing.
    ///
    /// - Throws: `TestFailure` where that does not come to an end.
    package func heal(_ conversation: String, from low: Int = 1, limit: () -> Int = { 1000 }) throws
    {
        // Each page brings at least a message, or the test has found what it is for.
        for _ in 0..<10_000 {
            let holder = holder(conversation)
            guard let gap = holder.missing(from: low).ranges.last else { return }
            try request(
                "fetchMessages",
                [
                    "conversation": .string(conversation), "after": .int(gap.lowerBound - 1),
                    "before": .int(gap.upperBound + 1), "limit": .int(limit()),
                ])
            if self.holder(conversation).missing(from: low) == holder.missing(from: low) {
                throw TestFailure("\(conversation): a fetch of \(gap) brought nothing")
            }
        }
        throw TestFailure("\(conversation): the gaps don't come to an end")
    }
}

extension ChatTestClient {
    /// The params of `fetchMessages` for a piece of what the client lacks, if it lacks anything, or
    /// for a page anywhere.
    package func randomPage(of conversation: String, using random: inout SplitMix64) -> JSONValue {
        let limit = JSONValue.int(Int.random(in: 1...40, using: &random))
        var params: JSONValue = ["conversation": .string(conversation), "limit": limit]
        let holder = holder(conversation)
        if random.happens(60), let gap = holder.missing().ranges.randomElement(using: &random) {
            params["after"] = .int(gap.lowerBound - 1)
            params["before"] = .int(gap.upperBound + 1)
        } else if random.happens(70) {
            let top = holder.head["seq"].int ?? 0
            let anchor = ["before", "after", "around"].randomElement(using: &random) ?? "around"
            params[anchor] = .int(Int.random(in: 1...(top + 1), using: &random))
        }
        if random.happens(50) { params["order"] = "asc" }
        return params
    }
}

extension Holder {
    /// What lies between `low` and the head, and is not held.
    package func missing(from low: Int = 1) -> Intervals {
        guard let top = head["seq"].int, low <= top else { return Intervals() }
        return Intervals([low...top]).subtracting(runs)
    }
}

extension Truth {
    /// Adds what another thread learned of the same conversation.
    ///
    /// - Throws: `TestFailure` where the two contradict each other.
    package mutating func learn(_ other: Truth) throws {
        for (epoch, log) in other.logs {
            for (rev, change) in log.changes {
                if change.slot == 0 {
                    try learn(record: change.value, epoch: epoch)
                } else {
                    guard change.value["rev"].int == rev else {
                        throw TestFailure("a value is known under another rev than its own")
                    }
                    try learn(message: change.value, epoch: epoch)
                }
            }
            for (rev, mark) in log.marks {
                try learn(head: [
                    "epoch": .string(epoch), "rev": .int(rev), "seq": 0, "mark": .string(mark),
                ])
            }
        }
    }
}
