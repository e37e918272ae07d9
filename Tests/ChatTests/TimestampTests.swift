import Foundation
import TestSupport
import Testing

@testable import Chat

/// `Timestamp` against Foundation's calendar and tables of texts.
@Suite struct TimestampTests {
    @Test(
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
            (1_795_168_800_000, "2026-11-20T10:00:00.000Z"),
            (951_782_400_007, "2000-02-29T00:00:00.007Z"),
            (-2_203_891_200_000, "1900-03-01T00:00:00.000Z"),
            (-62_135_596_800_000, "0001-01-01T00:00:00.000Z"),
            (-62_167_219_200_000, "0000-01-01T00:00:00.000Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
        ] as [(Int64, String)])
    func aMomentIsWrittenAsRFC3339AndReadBack(milliseconds: Int64, text: String) {
        let moment = Timestamp(milliseconds: milliseconds)
        #expect(moment.description == text)
        #expect(Timestamp(text) == moment)
    }

    @Test(
        arguments: [
            ("2026-11-20T10:00:00Z", 1_795_168_800_000),
            ("2026-11-20t10:00:00z", 1_795_168_800_000),
            ("2026-11-20T10:00:00.5Z", 1_795_168_800_500),
            ("2026-11-20T10:00:00.1234567890123456789012Z", 1_795_168_800_123),
            ("2026-11-20T10:00:00.9999Z", 1_795_168_800_999),
            ("1969-12-31T23:59:59.9999Z", -1),
            ("2026-11-20T12:30:00+02:30", 1_795_168_800_000),
            ("2026-11-20T04:15:00.25-05:45", 1_795_168_800_250),
            ("2026-11-20T10:00:00-00:00", 1_795_168_800_000),
            ("2016-12-31T23:59:60Z", 1_483_228_799_999),
            ("2016-12-31T23:59:60.75Z", 1_483_228_799_999),
            ("2017-01-01T08:59:60+09:00", 1_483_228_799_999),
            ("2018-01-11T07:18:53.791103Z", 1_515_655_133_791),
        ] as [(String, Int64)])
    func otherFormsOfRFC3339AreRead(text: String, milliseconds: Int64) {
        #expect(Timestamp(text)?.milliseconds == milliseconds)
        #expect(Timestamp(text[...])?.milliseconds == milliseconds)
    }

    @Test(arguments: [
        "", "2026", "2026-11-20", "2026-11-20T10:00Z", "2026-11-20T10:00:00",
        "2026-11-20 10:00:00Z", "2026-11-20T10:00:00.Z", "2026-11-20T10:00:00,5Z",
        "2026-11-20T10:00:00ZZ", " 2026-11-20T10:00:00Z", "2026-11-20T10:00:00Z ",
        "26-11-20T10:00:00Z", "+2026-11-20T10:00:00Z", "02026-11-20T10:00:00Z",
        "2026-1-20T10:00:00Z", "2026-00-20T10:00:00Z", "2026-13-20T10:00:00Z",
        "2026-11-00T10:00:00Z", "2026-11-31T10:00:00Z", "2026-02-29T10:00:00Z",
        "1900-02-29T10:00:00Z", "2100-02-29T10:00:00Z", "2026-11-20T24:00:00Z",
        "2026-11-20T10:60:00Z", "2026-11-20T10:00:61Z", "2026-11-20T10:00:60Z",
        "2026-11-20T23:59:60Z", "2016-12-31T23:58:60Z", "2026-11-20T10:00:00+24:00",
        "2026-11-20T10:00:00+01:60", "2026-11-20T10:00:00+0100", "2026-11-20T10:00:00+01",
        "2026-11-20T10:00:00 01:00", "0000-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01",
        "２０２６-11-20T10:00:00Z", "2026-11-20T-1:00:00Z",
    ])
    func whatIsNoMomentIsRefused(text: String) {
        #expect(Timestamp(text) == nil)
    }

    @Test func randomMomentsAgreeWithFoundation() throws {
        // From 1583 on, the first whole year of the Gregorian calendar: before it, Foundation
        // may count by the Julian one.
        let first: Int64 = -12_212_553_600_000
        for seed in UInt64(1)...10_000 {
            var generator = SplitMix64(seed: seed)
            let moment = Timestamp(
                milliseconds: .random(in: first...Timestamp.latest.milliseconds, using: &generator))
            let text = moment.description
            try #require(text.utf8.count == 24, "seed \(seed)")
            try #require(Timestamp(text) == moment, "seed \(seed)")

            let seconds = (Double(moment.milliseconds) / 1_000).rounded(.down)
            let date = Date(timeIntervalSince1970: seconds)
            try #require(date.formatted(.iso8601) == text.prefix(19) + "Z", "seed \(seed)")
            let rest = moment.milliseconds - Int64(seconds) * 1_000
            try #require(Int64(text.dropFirst(20).prefix(3)) == rest, "seed \(seed)")
        }
    }

    @Test func eachDayOf400YearsIsTheOneAfterTheLast() throws {
        let start = try #require(CivilDate(year: 1600, month: 1, day: 1)).daysSinceEpoch
        var previous = CivilDate(daysSinceEpoch: start - 1)
        for days in start..<start + 146_097 {
            let date = CivilDate(daysSinceEpoch: days)
            try #require(date.daysSinceEpoch == days)
            let follows =
                date.day == previous.day + 1
                ? (date.month, date.year) == (previous.month, previous.year)
                : date.day == 1
                    && CivilDate(
                        year: previous.year, month: previous.month, day: previous.day + 1) == nil
            try #require(follows, "day \(days)")
            previous = date
        }
        #expect(previous == CivilDate(year: 1999, month: 12, day: 31))
    }

    @Test func whatHasNoNameIsWrittenAsTheNearestThatHas() {
        #expect(Timestamp(milliseconds: .min).description == Timestamp.earliest.description)
        #expect(Timestamp(milliseconds: .max).description == Timestamp.latest.description)
    }
}
