// The truth of what several writers wrote beside each other.
extension ServerAPI {
    /// Ends the writers and takes over what they wrote, then reads the logs for the rest.
    ///
    /// - Returns: The truth of each conversation.
    /// - Throws: what the writers threw; `TestFailure` where what they were told contradicts
    ///   each other or the log.
    package func gather(
        _ writers: [Background<[String: Truth]>], _ conversations: [String]
    ) throws -> [String: Truth] {
        for writer in writers { writer.end() }
        let told = try writers.map { try $0.join() }
        return try Dictionary(
            uniqueKeysWithValues: conversations.map { ($0, try truth(of: $0, toldTo: told)) })
    }

    /// What the log has now, and what its writers were told that it had.
    ///
    /// - Throws: `TestFailure` where the two contradict each other.
    package func truth(of conversation: String, toldTo writers: [[String: Truth]]) throws -> Truth {
        var truth = try learnChanges(of: conversation)
        for told in writers { try told[conversation].map { try truth.learn($0) } }
        return truth
    }
}
