import Ports

/// What an upstream tells the operator: a line of the log, and for health while it lasts.
package struct UpstreamNotice: Sendable, Hashable {
    package let event: LogEvent
    /// What was done and seen, in the words of the server where it said some.
    package let text: String

    package init(_ event: LogEvent, _ text: String) {
        self.event = event
        self.text = text
    }
}
