import Configuration
import Foundation
import Testing
import WebSockets
import Wire

@testable import Gateway

/// Every input has a row in the table of bounds, in code and in the reference.
@Suite struct BoundTests {
    private static func names(_ rows: [Bound]) -> [String] { rows.map(\.input) }

    @Test func eachMethodRouteFrameAndFileHasOneRow() {
        let names = Bound.all.map(\.input)
        #expect(Set(names).count == names.count)
        for method in Method.allCases { #expect(names.contains("`\(method.rawValue)`")) }
        for route in APIRoute.allCases { #expect(names.contains("`\(route.rawValue)`")) }
        for opcode in Frame.Opcode.allCases { #expect(names.contains("frame: \(opcode)")) }
        for file in IncomingFile.allCases { #expect(names.contains("file: \(file.rawValue)")) }
        for bound in Bound.all {
            let words = [bound.size, bound.rows, bound.memory, bound.payer, bound.beyond]
            #expect(!words.contains(""), "\(bound.input)")
        }
    }

    /// A file that a key of the configuration names, and that is read.
    @Test func eachKeyThatNamesAFileHasARow() {
        let named = ConfigurationKey.all.map(\.name).filter {
            $0.hasSuffix("_file") || $0.hasPrefix("listen.tls.")
                || $0.hasPrefix("upstream.redis.tls.") && $0 != "upstream.redis.tls.server_name"
                || $0 == "cache.path"
        }
        let rows = Set(IncomingFile.allCases.map(\.rawValue))
        #expect(named.filter { !rows.contains("`\($0)`") } == [])
    }

    @Test func theReferenceHasTheTable() throws {
        let root = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        let path = "/\(root)/deploy/reference/security.md"
        let text = try String(contentsOfFile: path, encoding: .utf8)
        #expect(text.contains(Bound.table()), "it is:\n\(Bound.table())")
    }

    @Test func eachRouteIsFoundByItsPath() {
        for route in APIRoute.allCases {
            let path = route.rawValue.split(separator: "/").map {
                $0.hasPrefix("{") ? "a%2Fb" : String($0)
            }.joined(separator: "/")
            #expect(APIRoute(path: "/" + path) == route)
            #expect(APIRoute(path: "/" + path + "/") == nil)
        }
        #expect(APIRoute(path: "/") == nil && APIRoute(path: "/v1/none") == nil)
    }
}
