import Testing
import Wire

/// `traceparent` as W3C Trace Context has it.
@Suite struct TraceParentTests {
    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let sound = "00-\(trace)-00f067aa0ba902b7-01"

    @Test func whatIsSoundIsKeptAsItIs() {
        #expect(TraceParent.read(Self.sound) == Self.sound)
        // A later version is read as this one, and what it adds is left out.
        let later = "cc" + Self.sound.dropFirst(2)
        #expect(TraceParent.read(later) == later)
        #expect(TraceParent.read("\(later)-what-the-future-brings") == later)
    }

    @Test(arguments: [
        "", "00", "00-\(trace)-00f067aa0ba902b7", "\(sound)-", "\(sound)-01", "\(sound)0",
        " \(sound)",
        "cc-\(trace)-00f067aa0ba902b7-01.x", "ff-\(trace)-00f067aa0ba902b7-01",
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
        "00-\(trace)-0000000000000000-01",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
        "00-\(trace)-00f067aa0ba902b-001", "00-\(trace)-00f067aa0ba902bg-01", "\(sound), \(sound)",
        "00_\(trace)_00f067aa0ba902b7_01",
    ])
    func whatIsNotIsNone(text: String) { #expect(TraceParent.read(text) == nil) }

    @Test func connectTakesOneOrSaysWhatItTakes() throws {
        func connect(_ value: String) throws -> Request {
            let text = #"{"id":1,"method":"connect","params":{"traceparent":\#(value)}}"#
            return try RequestFrame.decode(Array(text.utf8), isBinary: false).request.get()
        }
        let expected = Request.connect(token: nil, user: nil, client: nil, trace: Self.sound)
        #expect(try connect("\"\(Self.sound)\"") == expected)
        #expect(try connect("null") == .connect(token: nil, user: nil, client: nil))
        for value in [#""00-secret""#, "7", "{}"] {
            let error = #expect(throws: RequestError.self) { try connect(value) }
            #expect(error?.code == .badRequest)
            #expect(error?.message.hasPrefix("params.traceparent: ") == true)
            #expect(error?.message.contains("secret") == false)
        }
    }
}
