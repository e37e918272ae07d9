/// All problems of a configuration at once, so that they can be fixed at once. Each names the
/// place, the key, the value seen and what is accepted; values of secret keys and contents of
/// secret files are never part of it.
package struct ConfigurationError: Error, Sendable, Hashable, CustomStringConvertible {
    /// Where a setting was made.
    package enum Place: Sendable, Hashable, CustomStringConvertible {
        case file(String, line: Int)
        case environment(String)
        case flag
        /// The configuration as a whole.
        case whole

        package var description: String {
            switch self {
            case .file(let path, let line): "\(path):\(line)"
            case .environment(let name): name
            case .flag: "--set"
            case .whole: "configuration"
            }
        }
    }

    /// One problem.
    package struct Problem: Sendable, Hashable, CustomStringConvertible {
        package let place: Place
        /// The key, if it is the fault of one key.
        package let key: String?
        package let message: String

        package init(_ place: Place, key: String? = nil, _ message: String) {
            self.place = place
            self.key = key
            self.message = message
        }

        package var description: String {
            "\(place): " + (key.map { "\($0): " } ?? "") + message
        }
    }

    /// At least one.
    package let problems: [Problem]
    /// How the log is written, as far as that could be read.
    package let log: Configuration.Log

    package init(_ problems: [Problem], log: Configuration.Log = Configuration.Log()) {
        precondition(!problems.isEmpty, "an error without a problem")
        self.problems = problems
        self.log = log
    }

    /// One line for each problem.
    package var description: String { problems.map(\.description).joined(separator: "\n") }
}
