import Cache
import Chat
import Ports
import TestSupport
import Testing
import Upstream
import Wire

/// Pages, against an array that is looked at from end to end.
@Suite struct PageTests {
    /// A conversation and the same as an array; several messages share a moment, some are deleted.
    private struct Subject {
        let origin: Origin
        /// What is at seq 1, 2, …
        var messages: [EncodedMessage] = []

        init(count: Int, using random: inout SplitMix64) throws {
            origin = try Origin()
            try origin.conversation(of: ["a"])
            for number in 1...max(1, count) where count > 0 {
                if Bool.random(using: &random) { origin.now += .random(in: 1...50, using: &random) }
                messages.append(try origin.send("x", id: "m\(number)", by: "a"))
            }
            for seq in messages.indices where Int.random(in: 0..<4, using: &random) == 0 {
                let delete = Operation.delete(conversation: "c1", id: "m\(seq + 1)")
                messages[seq] = try #require(try origin.perform(delete).messages().first)
            }
        }

        func anchor(using random: inout SplitMix64) -> Anchor {
            let start = messages.first?.createdAt.milliseconds ?? origin.now
            switch Int.random(in: 0..<3, using: &random) {
            case 0: return .seq(Int.random(in: 0...messages.count + 3, using: &random))
            case 1 where !messages.isEmpty:
                return .id("m\(Int.random(in: 1...messages.count, using: &random))")
            default:
                let moment = Int64.random(in: start - 5...origin.now + 5, using: &random)
                return .time(Timestamp(milliseconds: moment))
            }
        }

        func request(using random: inout SplitMix64) -> PageRequest {
            var request = PageRequest(
                limit: Int.random(in: 1...8, using: &random),
                order: Bool.random(using: &random) ? .asc : .desc)
            switch Int.random(in: 0..<5, using: &random) {
            case 0: request.before = anchor(using: &random)
            case 1: request.after = anchor(using: &random)
            case 2: request.around = anchor(using: &random)
            case 3:
                request.before = anchor(using: &random)
                request.after = anchor(using: &random)
            default: break
            }
            return request
        }

        /// Whether the message lies before (-1), at (0) or after (1) the anchor.
        func side(_ message: EncodedMessage, of anchor: Anchor) -> Int {
            switch anchor {
            case .seq(let seq): (message.seq - seq).signum()
            case .id(let id): (message.seq - (Int(id.dropFirst()) ?? 0)).signum()
            case .time(let moment): message.createdAt < moment ? -1 : 1
            }
        }

        func expected(_ request: PageRequest, _ head: Head) -> Page {
            var page: [EncodedMessage]
            var low: ((EncodedMessage) -> Bool) = { _ in false }
            var high: ((EncodedMessage) -> Bool) = { _ in false }
            if let around = request.around {
                page = messages.filter { side($0, of: around) < 0 }.suffix(request.limit)
                page += messages.filter { side($0, of: around) == 0 }
                page += messages.filter { side($0, of: around) > 0 }.prefix(request.limit)
                low = { side($0, of: around) < 0 }
                high = { side($0, of: around) > 0 }
            } else {
                page = messages
                if let before = request.before { page.removeAll { side($0, of: before) >= 0 } }
                if let after = request.after { page.removeAll { side($0, of: after) <= 0 } }
                let fromBelow =
                    request.after != nil && (request.before == nil || request.order == .asc)
                page = fromBelow ? page.prefix(request.limit) + [] : page.suffix(request.limit) + []
                if let outer = request.after ?? request.before {
                    low = { side($0, of: outer) < 0 }
                }
                if let outer = request.before ?? request.after {
                    high = { side($0, of: outer) > 0 }
                }
            }
            if let first = page.first, let last = page.last {
                low = { $0.seq < first.seq }
                high = { $0.seq > last.seq }
            }
            return Page(
                messages: request.order == .asc ? page : page.reversed(),
                hasMoreBefore: messages.contains(where: low),
                hasMoreAfter: messages.contains(where: high), head: head)
        }
    }

    @Test func aPageIsWhatLookingAtAllOfThemGives() throws {
        for seed in UInt64(0)..<12 {
            var random = SplitMix64(seed: seed)
            let count = seed == 0 ? 0 : Int.random(in: 1...40, using: &random)
            let subject = try Subject(count: count, using: &random)
            let head = try subject.origin.head()
            for _ in 0..<400 {
                let request = subject.request(using: &random)
                let expected = subject.expected(request, head)
                let page = try subject.origin.page(request)
                guard page != expected else { continue }
                Issue.record("seed \(seed), \(request): \(page.summary), not \(expected.summary)")
                return
            }
        }
    }

    @Test func anIdThatIsNotThereIsNamedByItsField() throws {
        let origin = try Origin()
        try origin.conversation(of: ["a"])
        for (field, request) in [
            ("before", PageRequest(before: .id("secret"))),
            ("after", PageRequest(after: .id("secret"))),
            ("around", PageRequest(around: .id("secret"))),
        ] {
            do {
                _ = try origin.page(request)
                Issue.record("\(field) was accepted")
            } catch let error as RequestError {
                #expect(error.code == .notFound && error.message.hasPrefix(field))
                #expect(!error.message.contains("secret"))
            }
        }
        let mixed = PageRequest(before: .seq(1), around: .seq(1))
        #expect(refusal { _ = try origin.page(mixed) } == .badRequest)
        #expect(refusal { _ = try origin.page(PageRequest(), of: "c9") } == .notFound)
    }

    @Test func aPageHoldsWhatFitsIntoItsBytes() throws {
        let origin = try Origin(bytes: 3_000)
        try origin.conversation(of: ["a"])
        for _ in 0..<10 { try origin.send(String(repeating: "x", count: 900), by: "a") }
        let newest = try origin.page(PageRequest())
        #expect(newest.messages.map(\.seq) == [10, 9])
        #expect(newest.hasMoreBefore && !newest.hasMoreAfter)
        let oldest = try origin.page(PageRequest(after: .seq(0), order: .asc))
        #expect(oldest.messages.map(\.seq) == [1, 2])
        #expect(oldest.hasMoreAfter && !oldest.hasMoreBefore)
        let middle = try origin.page(PageRequest(around: .seq(5)))
        #expect(middle.messages.map(\.seq) == [6, 5, 4])
        #expect(middle.hasMoreAfter && middle.hasMoreBefore)
    }

    @Test func walkingGivesEveryMessageOnceInBothDirections() throws {
        let origin = try Origin()
        try origin.conversation(of: ["a"])
        let messages = (0..<1_000).map {
            NewMessage(author: "a", content: MessageContent(body: "\($0)"))
        }
        try origin.perform(.send(conversation: "c1", messages))
        var backwards: [Int] = []
        var request = PageRequest(limit: 33)
        repeat {
            let page = try origin.page(request)
            backwards += page.messages.map(\.seq)
            #expect(page.hasMoreBefore == (backwards.last != 1))
            request.before = .seq(backwards.last ?? 0)
        } while backwards.last ?? 1 > 1
        #expect(backwards == (1...1_000).reversed())
        var forwards: [Int] = []
        request = PageRequest(after: .seq(0), limit: 33, order: .asc)
        repeat {
            let page = try origin.page(request)
            forwards += page.messages.map(\.seq)
            request.after = .seq(forwards.last ?? 1_000)
        } while forwards.last ?? 1_000 < 1_000
        #expect(forwards == Array(1...1_000))
    }
}

extension Page {
    /// Enough to see what is wrong with it.
    fileprivate var summary: String {
        "\(messages.map(\.seq)) before \(hasMoreBefore) after \(hasMoreAfter) head \(head.rev)"
    }
}
