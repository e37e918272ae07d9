/// What was seen in a simulated world and must never be: a promise of the protocol is broken, or
/// the gateway's own accounts are.
package struct Violation: Error, Sendable, CustomStringConvertible {
    package var description: String

    package init(_ description: String) { self.description = description }
}

/// Says what must hold, and what was seen where it does not.
func require(
    _ condition: @autoclosure () -> Bool, _ seen: @autoclosure () -> String
) throws(Violation) {
    guard condition() else { throw Violation(seen()) }
}
