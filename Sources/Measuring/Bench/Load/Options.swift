/// The options of one command line, `--name value` each, parsed against those of the scenario.
package struct Options: Sendable {
    /// One option; `value` is the placeholder of its value in the help.
    package struct Option: Sendable {
        let name: String
        let value: String
        let help: String
        let repeats: Bool

        package init(name: String, value: String, help: String, repeats: Bool = false) {
            self.name = name
            self.value = value
            self.help = help
            self.repeats = repeats
        }
    }

    private var values: [String: [String]] = [:]

    /// - Throws: `BenchError.usage` for an unknown option, one without a value, and a repeated one
    ///   that may not repeat.
    init(_ words: some Sequence<String>, accepted: [Option]) throws(BenchError) {
        var words = Array(words)[...]
        while let word = words.popFirst() {
            let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts[0].hasPrefix("--"),
                let option = accepted.first(where: { $0.name == parts[0].dropFirst(2) })
            else { throw .usage("no option \(parts[0]) here") }
            guard let value = parts.count == 2 ? String(parts[1]) : words.popFirst() else {
                throw .usage("--\(option.name) takes a value")
            }
            guard option.repeats || values[option.name] == nil else {
                throw .usage("--\(option.name) is given twice")
            }
            values[option.name, default: []].append(value)
        }
    }

    /// The value of an option, if given.
    package subscript(_ name: String) -> String? { values[name]?.last }

    /// Each value of an option that may repeat.
    func all(_ name: String) -> [String] { values[name] ?? [] }

    /// A whole number.
    /// - Throws: `BenchError.usage` if it is not one, or outside of `range`.
    package func int(
        _ name: String, default missing: Int, in range: ClosedRange<Int>
    ) throws(BenchError) -> Int {
        guard let text = self[name] else { return missing }
        return try Self.int(text, name, range)
    }

    /// Whole numbers, separated by commas; an empty text means none.
    /// - Throws: `BenchError.usage` for anything else, and outside of `range`.
    package func ints(
        _ name: String, default missing: [Int], in range: ClosedRange<Int>
    ) throws(BenchError) -> [Int] {
        guard let text = self[name] else { return missing }
        var numbers: [Int] = []
        for word in text.split(separator: ",") {
            numbers.append(try Self.int(String(word), name, range))
        }
        return numbers
    }

    private static func int(
        _ text: String, _ name: String, _ range: ClosedRange<Int>
    ) throws(BenchError) -> Int {
        guard let number = Int(text), range.contains(number) else {
            throw .usage(
                "--\(name): \(text) is not accepted (\(range.lowerBound) to \(range.upperBound))")
        }
        return number
    }
}
