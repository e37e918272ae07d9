/// Something that must never happen in a simulated world: a broken promise of the protocol, or an
/// error in the gateway's accounting.
package struct Violation: Error, Sendable, CustomStringConvertible {
    package var description: String

    package init(_ description: String) { self.description = description }
}

/// Throws a violation with `seen` unless the condition holds.
func require(
    _ condition: @autoclosure () -> Bool, _ seen: @autoclosure () -> String
) throws(Violation) {
    guard condition() else { throw Violation(seen()) }
}
