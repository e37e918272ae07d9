import Testing
import Wire

@testable import Engine

/// What connections are told of single conversations.
@Suite struct ReadingLogTests {
    private static func state(_ unread: Int, read: Int = 0) -> ReaderState {
        ReaderState(lastReadSeq: read, unreadCount: unread)
    }

    private static func say(_ log: inout ReadingLog, _ states: [ID: ReaderState]) {
        for id in states.keys { log.note(id) }
        log.publish { states[$0] }
    }

    /// Otherwise what changes all the time keeps from being told what changed long ago.
    @Test func whatChangedFirstIsToldFirst() {
        var log = ReadingLog()
        var told = ToldReading()
        Self.say(&log, ["quiet".id: Self.state(1)])
        var times: [ID: Int] = [:]
        for round in 1...6 {
            let busy = (0..<150).map { ("busy\($0)".id, Self.state(round)) }
            Self.say(&log, Dictionary(uniqueKeysWithValues: busy))
            let news = log.news(for: told, isSettled: true)
            #expect(news.readers.count == ReadingLog.limit && !news.isAll)
            #expect(news.readers.contains { $0.conversation == "quiet".id } == (round == 1))
            for reader in news.readers { times[reader.conversation, default: 0] += 1 }
            told = news.told
        }
        // Of those that change all the time none waits for more than one event.
        #expect(times.count == 151)
        #expect(times.filter { $0.key != "quiet".id }.values.allSatisfy { $0 >= 3 })
        let rest = log.news(for: told, isSettled: true)
        #expect(rest.isAll && rest.readers.allSatisfy { $0.state == Self.state(6) })
        #expect(!log.mayOwe(rest.told))
    }

    @Test func whatIsUnreadIsToldBeforeTheRest() {
        var log = ReadingLog()
        Self.say(
            &log, ["a".id: Self.state(0), "b".id: Self.state(2), "c".id: Self.state(1)])
        let news = log.news(for: ToldReading(), isSettled: true)
        #expect(news.readers.map(\.conversation.text) == ["b", "c", "a"])
    }

    /// A failover loses a marker that an answer showed, and no event.
    @Test func whatAnAnswerShowedOtherwiseIsCorrected() {
        let id = "c1".id
        var log = ReadingLog()
        Self.say(&log, [id: Self.state(1, read: 9)])
        var told = log.news(for: ToldReading(), isSettled: true).told
        #expect(!log.mayOwe(told))
        told.answered[id] = Self.state(0, read: 10)
        Self.say(&log, [id: Self.state(1, read: 9)])
        // The answer may know more.
        var news = log.news(for: told, isSettled: false)
        #expect(news.readers.isEmpty && log.mayOwe(news.told))
        news = log.news(for: news.told, isSettled: true)
        #expect(news.readers.map(\.state) == [Self.state(1, read: 9)])
        #expect(!log.mayOwe(news.told))
    }

    @Test func whatAnAnswerShowedIsNotToldAgain() {
        let id = "c1".id
        var log = ReadingLog()
        var told = ToldReading()
        told.answered[id] = Self.state(2)
        Self.say(&log, [id: Self.state(2)])
        let news = log.news(for: told, isSettled: true)
        #expect(news.readers.isEmpty && news.isAll && !log.mayOwe(news.told))
    }

    @Test func correctionsBeyondTheLimitComeWithTheNextEvent() {
        var log = ReadingLog()
        let states = (0..<150).map { ("c\($0)".id, Self.state(1)) }
        Self.say(&log, Dictionary(uniqueKeysWithValues: states))
        var told = ToldReading()
        (told.through, told.answered) = (150, [:])
        for (id, _) in states { told.answered[id] = Self.state(0) }
        let first = log.news(for: told, isSettled: true)
        #expect(first.readers.count == ReadingLog.limit && !first.isAll)
        let second = log.news(for: first.told, isSettled: true)
        #expect(second.readers.count == 50 && second.isAll)
        let all = Set((first.readers + second.readers).map(\.conversation))
        #expect(all.count == 150)
    }
}
