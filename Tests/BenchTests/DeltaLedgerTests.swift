import Testing

@testable import Bench

/// What the ledger tells of frames: a comparison must never hide a difference.
@Suite struct DeltaLedgerTests {
    private func event(_ messages: [(seq: Int, number: Int)]) -> [UInt8] {
        let deltas = messages.map {
            """
            {"type":"inserted","via":"live","message":{"id":"bench-\($0.number)",\
            "conversation":"bench","seq":\($0.seq),"rev":\($0.seq + 1),"body":"x"}}
            """
        }
        let list = deltas.joined(separator: ",")
        return Array(
            #"{"event":"messages","conversation":"bench","deltas":[\#(list)],"prev":1}"#.utf8)
    }

    private func seqs(_ ledger: inout DeltaLedger, _ frame: [UInt8], expecting: Int) -> [Int]? {
        ledger.deltas(in: frame.span, expecting: expecting)?.map(\.seq)
    }

    @Test func everyReaderIsToldTheSameOfTheSameFrame() {
        var ledger = DeltaLedger()
        let frame = event([(1, 0), (2, 1)])
        for _ in 0..<3 {
            let deltas = ledger.deltas(in: frame.span, expecting: 1)
            #expect(deltas?.map(\.seq) == [1, 2])
            #expect(deltas?.map(\.message) == [0, 1])
        }
    }

    @Test func framesThatAreCutOtherwiseAreReadForThemselves() {
        var ledger = DeltaLedger()
        #expect(seqs(&ledger, event([(1, 0), (2, 1)]), expecting: 1) == [1, 2])
        #expect(seqs(&ledger, event([(1, 0)]), expecting: 1) == [1])
        #expect(seqs(&ledger, event([(2, 1)]), expecting: 2) == [2])
    }

    @Test func aMessageThatIsNotTheNextIsTold() {
        var ledger = DeltaLedger()
        #expect(seqs(&ledger, event([(1, 0)]), expecting: 1) == [1])
        #expect(seqs(&ledger, event([(3, 2)]), expecting: 2) == [3])
        #expect(seqs(&ledger, event([(1, 0)]), expecting: 2) == [1])
    }

    @Test func whatIsNoMessagesEventIsNone() {
        var ledger = DeltaLedger()
        #expect(seqs(&ledger, Array(#"{"event":"ping"}"#.utf8), expecting: 1) == nil)
        #expect(seqs(&ledger, Array("{}".utf8), expecting: 1) == nil)
    }
}
