/// What a piece of the test support could not do, as a sentence. It is thrown out of the test,
/// which thereby fails with it.
package struct TestFailure: Error, CustomStringConvertible, Sendable {
    package let description: String

    package init(_ description: String) { self.description = description }
}
