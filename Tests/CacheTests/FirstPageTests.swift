import Cache
import Foundation
import SQLite
import Testing

/// Files whose first page is lost, or never said that they are ours.
@Suite struct FirstPageTests {
    private let scratch: Scratch

    init() throws { scratch = try Scratch() }

    private func spoil() throws {
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: scratch.file()))
        try file.write(contentsOf: Data(repeating: 0xA5, count: 100))
        try file.close()
    }

    @Test func aCacheWithADamagedHeaderIsPutAside() throws {
        #expect(try scratch.store(origin: "redis").putAside == nil)
        try spoil()
        let path = try #require(try scratch.store(origin: "redis").putAside)
        #expect(path == scratch.file() + ".damaged-1")
        #expect(
            try Data(contentsOf: URL(fileURLWithPath: path)).prefix(100).allSatisfy { $0 == 0xA5 })
    }

    @Test func aLogWithADamagedHeaderIsLeftAsItIs() throws {
        _ = try scratch.store()
        try spoil()
        let error = #expect(throws: CacheError.self) { _ = try scratch.store() }
        #expect(error?.code == .notADatabase)
        #expect(FileManager.default.fileExists(atPath: scratch.file()))
    }

    @Test func aFileOfSomebodyElsesIsLeftHoweverOftenItIsTried() throws {
        try Data(repeating: 0x61, count: 5000).write(to: URL(fileURLWithPath: scratch.file()))
        for _ in 0..<3 {
            let error = #expect(throws: CacheError.self) { _ = try scratch.store(origin: "redis") }
            #expect(error?.code == .notADatabase)
            #expect(throws: CacheError.self) { try Store.look(scratch.options(origin: "redis")) }
        }
        #expect(try Data(contentsOf: URL(fileURLWithPath: scratch.file())).count == 5000)
    }

    @Test func aLookFindsWhatOpeningWould() throws {
        #expect(try !Store.look(scratch.options()))
        #expect(!FileManager.default.fileExists(atPath: scratch.file()))
        let store = try scratch.store()
        #expect(try Store.look(scratch.options()))
        #expect(throws: CacheError.self) { try Store.look(scratch.options(origin: "redis")) }
        let folder = Store.Options(path: scratch.path, origin: "embedded")
        let error = #expect(throws: CacheError.self) { try Store.look(folder) }
        #expect(error?.description.contains("it is a directory") == true)
        #expect(throws: CacheError.self) { _ = try Store(folder) }
        withExtendedLifetime(store) {}
    }
}
