import Foundation
import TestSupport

/// What one gateway took at one moment.
struct Sample: Sendable {
    /// Since the soak began, in seconds.
    var second: Double
    var gateway: String
    /// Its start: the first is 1.
    var life: Int
    /// Since that start, in seconds.
    var age: Double
    var residentBytes: Int
    var descriptors: Int
    /// The cache and what waits beside it.
    var fileBytes: Int
    var walBytes: Int

    /// As a line of the report.
    var json: JSONValue {
        [
            "second": .int(Int(second)), "gateway": .string(gateway), "life": .int(life),
            "resident": .int(residentBytes), "descriptors": .int(descriptors),
            "file": .int(fileBytes), "wal": .int(walBytes),
        ]
    }
}

/// Looks at the gateways, and writes what it saw and what happened to them, as lines of JSON.
final class Sampler {
    private(set) var samples: [Sample] = []
    /// When what happened.
    private(set) var marks: [(second: Double, name: String)] = []
    /// What the tests themselves took, second by second.
    private(set) var ownBytes: [Int] = []
    /// Times that the books of a gateway did not balance.
    private(set) var unbalanced = 0
    private let file: FileHandle
    private let began = ContinuousClock.now
    private var lives: [String: (number: Int, process: Int32, began: Double)] = [:]

    /// - Throws: Foundation's error where the file can't be written.
    init(_ path: URL) throws {
        try Data().write(to: path)
        file = try FileHandle(forWritingTo: path)
    }

    deinit { try? file.close() }

    var second: Double { (ContinuousClock.now - began) / .seconds(1) }

    /// - Throws: Foundation's error where the file can't be written.
    func mark(_ name: String) throws {
        marks.append((second, name))
        try write(["second": .int(Int(second)), "mishap": .string(name)])
    }

    /// - Throws: Foundation's error where the file can't be written.
    func look(at gateway: GatewayProcess, _ name: String) throws {
        guard let process = gateway.processID, let figures = try? gateway.figures() else { return }
        if lives[name]?.process != process {
            lives[name] = ((lives[name]?.number ?? 0) + 1, process, second)
        }
        guard let life = lives[name] else { return }
        let path = gateway.directory.appendingPathComponent("gapless.db").path
        let sample = Sample(
            second: second, gateway: name, life: life.number, age: second - life.began,
            residentBytes: figures.residentBytes, descriptors: figures.openDescriptors,
            fileBytes: Self.size(path), walBytes: Self.size(path + "-wal"))
        samples.append(sample)
        try write(sample.json)
        let error = (try? gateway.health().json["accounting"]["error"].int) ?? 0
        if error != 0 { unbalanced += 1 }
    }

    /// The tests' own memory: a recorder that kept all would show here.
    ///
    /// - Throws: Foundation's error where the file can't be written.
    func lookAtSelf() throws {
        guard let figures = try? GatewayProcess.figures(of: getpid()) else { return }
        ownBytes.append(figures.residentBytes)
        try write(["second": .int(Int(second)), "tests": .int(figures.residentBytes)])
    }

    func lifeCount(_ name: String) -> Int { lives[name]?.number ?? 0 }

    private func write(_ line: JSONValue) throws {
        try file.write(contentsOf: Data(line.bytes + [UInt8(ascii: "\n")]))
    }

    private static func size(_ path: String) -> Int {
        let attributes = try? FileManager.default.attributesOfItem(atPath: path)
        return (attributes?[.size] as? NSNumber)?.intValue ?? 0
    }
}
