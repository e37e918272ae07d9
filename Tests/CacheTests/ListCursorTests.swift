import Cache
import Testing

/// Cursors and tokens come back from clients: they are read strictly or not at all.
@Suite struct ListCursorTests {
    @Test(arguments: [(0, 1), (1_795_000_000_000, 42), (-5, 7), (Int64.max, Int.max)])
    func aCursorIsReadAsItWasWritten(activity: Int64, cid: Int) {
        let cursor = ListCursor(activity: activity, cid: cid)
        #expect(ListCursor(cursor.text) == cursor)
    }

    @Test(arguments: [
        "", ".", "1", "1.", ".1", "1.2.3", "1.0", "1.-2", "01.2", "+1.2", "1.2 ", "A.1", "1,2",
        "zzzzzzzzzzzzzzzzzzzz.1",
    ])
    func anythingElseIsNoCursor(text: String) {
        #expect(ListCursor(text) == nil)
    }

    @Test func aTokenIsReadAsItWasWritten() {
        let token = ListToken(rev: 12_345, mark: "00ff00ff00ff00ff")
        #expect(ListToken(token.text) == token)
        #expect(ListToken("0.") == ListToken(rev: 0, mark: ""))
    }

    @Test(arguments: ["", "12", "-1.ab", "01.ab", "x y.ab", "+5.ab"])
    func anythingElseIsNoToken(text: String) {
        #expect(ListToken(text) == nil)
    }
}
