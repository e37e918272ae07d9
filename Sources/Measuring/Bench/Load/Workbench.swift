/// What a measurement is made with that starts by itself what it measures.
package struct Workbench: Sendable {
    /// The gateway's program, and its settings from the command line.
    let program: String
    let settings: [String]
    /// Where the programs lie that were built together with this one.
    let programs: String
    /// Where files are put.
    let directory: String
    let machine: Machine

    /// A directory where the files of a measurement are to lie.
    /// - Throws: `BenchError.failure`
    package func scratch() throws(BenchError) -> ScratchDirectory {
        try ScratchDirectory(in: directory)
    }

    /// A gateway with further settings.
    /// - Parameter directory: where its files lie, to be found there later; its own where none is
    ///   given.
    /// - Throws: `BenchError.failure`
    func gateway(
        _ more: [String] = [], in directory: ScratchDirectory? = nil
    ) throws(BenchError) -> GatewayProcess {
        let place = if let directory { directory } else { try scratch() }
        return try GatewayProcess(
            program: program, settings: settings + more, in: place, on: machine)
    }

    /// A program that was built together with this one.
    package func sibling(_ name: String) -> String { "\(programs)/\(name)" }

    /// Where this program lies.
    static func ownPlace() -> String {
        let own = Files.target(of: "/proc/self/exe") ?? ""
        return String(own.prefix(upTo: own.lastIndex(of: "/") ?? own.startIndex))
    }

    /// Runs a program to its end, on the core of this one.
    /// - Returns: what it wrote.
    /// - Throws: `BenchError.failure` where it can't be started or does not exit with 0.
    package func run(_ words: [String], in scratch: ScratchDirectory) throws(BenchError) -> String {
        let output = "\(scratch.path)/output"
        let child = try Child.spawn(words, log: output)
        let status = Child.wait(child)
        let text = Files.text(output) ?? ""
        Files.remove(output)
        guard status == 0 else {
            throw .failure("running \(words[0]): \(status); it said: \(text.suffix(500))")
        }
        return text
    }
}
