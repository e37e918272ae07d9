import Foundation
import FuzzTargets
import Testing

/// Every input that is kept holds what its target promises: the seeds, and each one that once broke
/// something. A target whose corpus is not found is a failure.
@Suite struct CorpusTests {
    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Corpora")

    private static func files(of target: FuzzTarget) throws -> [URL] {
        try FileManager.default.contentsOfDirectory(
            at: root.appendingPathComponent(target.rawValue), includingPropertiesForKeys: nil
        ).sorted { $0.path < $1.path }
    }

    @Test(arguments: FuzzTarget.allCases) func everyInputHolds(_ target: FuzzTarget) throws {
        let files = try Self.files(of: target)
        #expect(files.count >= 8)
        for file in files {
            // A broken promise ends the process: the last line names the input.
            FileHandle.standardError.write(Data("\(target)/\(file.lastPathComponent)\n".utf8))
            target.run(Array(try Data(contentsOf: file)))
        }
    }

    /// The ends that a fuzzer finds first, and no seed is.
    @Test(arguments: FuzzTarget.allCases) func theShortestInputsHold(_ target: FuzzTarget) {
        target.run([])
        for byte in UInt8.min...UInt8.max {
            target.run([byte])
            target.run([byte, byte])
        }
    }

    @Test func aBrokenPromiseEndsTheProcess() async {
        await #expect(processExitsWith: .failure) { require(false, "that the test can fail") }
    }

    @Test func thereIsNoCorpusWithoutATarget() throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: Self.root.path)
        #expect(Set(names) == Set(FuzzTarget.allCases.map(\.rawValue)))
    }
}
