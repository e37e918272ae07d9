/// A day of the Gregorian calendar, also before its adoption, and its number counted from
/// 1970-01-01. The conversions begin the year on the 1st of March, so that the leap day is the last
/// of its year and every 400 years are alike (Howard Hinnant's `days_from_civil` and its inverse).
struct CivilDate: Hashable {
    var year: Int
    /// 1 to 12.
    var month: Int
    /// 1 to 31.
    var day: Int

    /// The days in 400 years.
    private static let daysInEra = 146_097
    /// The days from 0000-03-01 to 1970-01-01.
    private static let daysToEpoch = 719_468

    /// The date, or nil if the calendar has no such day.
    init?(year: Int, month: Int, day: Int) {
        guard (1...12).contains(month), day >= 1,
            day <= Self.days(inMonth: month, of: year)
        else { return nil }
        self.year = year
        self.month = month
        self.day = day
    }

    /// The date `days` after 1970-01-01.
    init(daysSinceEpoch days: Int) {
        let shifted = days + Self.daysToEpoch
        let era = (shifted >= 0 ? shifted : shifted - Self.daysInEra + 1) / Self.daysInEra
        let dayOfEra = shifted - era * Self.daysInEra
        let leapDays = dayOfEra / 1_460 - dayOfEra / 36_524 + dayOfEra / 146_096
        let yearOfEra = (dayOfEra - leapDays) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }

    /// The days since 1970-01-01, negative before it.
    var daysSinceEpoch: Int {
        let fromMarch = month > 2 ? year : year - 1
        let era = (fromMarch >= 0 ? fromMarch : fromMarch - 399) / 400
        let yearOfEra = fromMarch - era * 400
        let monthFromMarch = month > 2 ? month - 3 : month + 9
        let dayOfYear = (153 * monthFromMarch + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * Self.daysInEra + dayOfEra - Self.daysToEpoch
    }

    private static func days(inMonth month: Int, of year: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}
