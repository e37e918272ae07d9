import Ports

/// What a script of a world of replicas holds back or limits.
package struct Script {
    /// Something that a script can hold back.
    package enum Part: Sendable {
        /// The link's return after it was lost.
        case link
        /// Acknowledgements of subscriptions.
        case acknowledgements
        case feed
        /// Reads of the cache.
        case reads
        /// Questions to the origin, before they are read.
        case questions
        /// Answers of the origin, after they were read.
        case answers
        /// All answers of the origin.
        case origin
        /// Answers of the right kind: while held back, the origin answers something else.
        case kinds
    }

    /// The parts that are held back.
    var held: Set<Part> = []
    /// The most messages in a page of the origin.
    var clamp = Int.max
    /// The most of a feed that comes in a turn.
    var feed = Int.max
    /// The questions to the origin, oldest first.
    var asked: [HistoryQuery] = []
}
