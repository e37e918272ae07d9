import Foundation
import Testing

@testable import Gateway

/// The files of the page, as they may lie in a folder.
@Suite struct PageTests {
    @Test func aLinkedFolderIsReadAndOneThatLeadsBackEnds() throws {
        let files = FileManager.default
        let folder = files.temporaryDirectory.appendingPathComponent("gapless-page-\(UUID())")
        let (page, parts) = (
            folder.appendingPathComponent("page"), folder.appendingPathComponent("parts")
        )
        for each in [page, parts] {
            try files.createDirectory(at: each, withIntermediateDirectories: true)
        }
        defer { try? files.removeItem(at: folder) }
        try Data("<p>".utf8).write(to: page.appendingPathComponent("index.html"))
        try Data("1".utf8).write(to: parts.appendingPathComponent("part.js"))
        for (name, target) in [("linked", parts), ("back", page)] {
            try files.createSymbolicLink(
                at: page.appendingPathComponent(name), withDestinationURL: target)
        }
        let read = PageFiles(directory: page.path)
        #expect(read["/"]?.bytes == Array("<p>".utf8))
        #expect(read["/linked/part.js"]?.bytes == Array("1".utf8))
        #expect(read["/back/linked/part.js"] != nil)
    }
}
