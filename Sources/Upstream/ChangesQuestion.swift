/// A question for the changes of a log above one of them.
struct ChangesQuestion: Sendable {
    let conversation: String
    let since: Int
    /// The mark of that change, which the log has to have; nil to take its word.
    let mark: String?
    let limit: Int
    /// The record is wanted too if it changed above this; nil if it is not.
    let recordAbove: Int?
}
