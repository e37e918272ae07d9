import Dispatch
import Foundation
import SQLite
import Synchronization
import Testing

@testable import Cache

/// The file as this process knows it, while one thread brings something into it and another looks.
@Suite struct FilePlaceTests {
    /// A look that began before a checkpoint and ended after it must not take it for a stranger's.
    @Test func whatWeChangeIsNotTakenForSomebodyElses() throws {
        let scratch = try Scratch()
        let path = scratch.file()
        #expect(FileManager.default.createFile(atPath: path, contents: Data("a log".utf8)))
        let place = try FilePlace(path, wait: .zero)
        let file = try #require(FileHandle(forWritingAtPath: path))
        let isDone = Atomic<Bool>(false)
        let looks = Atomic<Int>(0)
        DispatchQueue.concurrentPerform(iterations: 2) { thread in
            if thread == 0 {
                // The other thread may begin late.
                var changes = 0
                while changes < 300 || looks.load(ordering: .relaxed) < 300 {
                    changes += 1
                    place.changing {
                        file.seekToEndOfFile()
                        file.write(Data("more".utf8))
                    }
                }
                isDone.store(true, ordering: .sequentiallyConsistent)
            } else {
                while !isDone.load(ordering: .sequentiallyConsistent) {
                    do throws(CacheError) { try place.check() } catch { Issue.record(error) }
                    looks.add(1, ordering: .relaxed)
                }
            }
        }
        // It still notices what somebody else brings in.
        file.seekToEndOfFile()
        file.write(Data("another".utf8))
        #expect(throws: CacheError.self) { try place.check() }
    }
}
