/// A log line of an upstream for the operator.
package struct UpstreamNotice: Sendable, Hashable {
    package enum Level: Sendable, Hashable { case info, warning, error }

    package let level: Level
    package let text: String

    init(_ level: Level, _ text: String) {
        self.level = level
        self.text = text
    }
}
