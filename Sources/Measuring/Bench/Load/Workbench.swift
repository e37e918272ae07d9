/// The environment of a measurement that starts its subject itself.
package struct Workbench: Sendable {
    /// The gateway's program, and its settings from the command line.
    let program: String
    let settings: [String]
    /// The directory of the programs that were built together with this one.
    let programs: String
    /// The directory for files.
    let directory: String
    let machine: Machine

    /// A new directory for the files of a measurement.
    /// - Throws: `BenchError.failure`
    package func scratch() throws(BenchError) -> ScratchDirectory {
        try ScratchDirectory(in: directory)
    }

    /// A gateway with further settings.
    /// - Parameter directory: the directory of its files, which stay there; nil for a temporary
    ///   one.
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

    /// The directory of this program.
    static func ownPlace() -> String {
        let own = Files.target(of: "/proc/self/exe") ?? ""
        return String(own.prefix(upTo: own.lastIndex(of: "/") ?? own.startIndex))
    }

    /// Runs a program to its end, on this program's core.
    /// - Returns: its output.
    /// - Throws: `BenchError.failure` if it can't be started or its exit code is not 0.
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
