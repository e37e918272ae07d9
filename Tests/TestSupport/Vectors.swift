import Foundation

/// The vector files that the tests of the Swift and of the JavaScript client read alike.
package enum Vectors {
    /// - Throws: what Foundation says of a file that can't be read, or is no JSON.
    package static func read(_ name: String) throws -> JSONValue {
        let url = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("Vectors/\(name).json")
        return try JSONValue(parsing: Array(Data(contentsOf: url)))
    }

    /// The cases of a file; none where it can't be read, which a test of their number tells.
    package static func cases(of name: String) -> [JSONValue] {
        (try? read(name))?["cases"].array ?? []
    }
}

/// A case of a vector file, as the argument of a test: named as the file names it.
package struct Vector: Sendable, CustomStringConvertible {
    package let value: JSONValue

    package init(value: JSONValue) { self.value = value }

    package var description: String { value["name"].string ?? "" }
}
