import JSON
import Wire

/// Fields that the gateway does not know. There may be thousands in one frame, so that each of
/// these takes time by their number and not by its square.
extension [JSONMember] {
    /// These members, with those of `others` in the place of the same names or behind; what is
    /// `null` there is taken out.
    package func merged(with others: [JSONMember]) -> [JSONMember] {
        guard !others.isEmpty else { return self }
        var places: [ID: Int] = [:]
        for (place, member) in enumerated() { places[member.key.id] = place }
        var result: [JSONMember?] = self
        for other in others {
            let value = other.value.isNull ? nil : other
            if let place = places[other.key.id] {
                result[place] = value
            } else if let value {
                places[other.key.id] = result.count
                result.append(value)
            }
        }
        return result.compactMap(\.self)
    }

    /// Whether both say the same, in whatever order.
    package func isSame(as others: [JSONMember]) -> Bool {
        guard count == others.count else { return false }
        var values: [ID: RawJSON] = [:]
        for other in others { values[other.key.id] = other.value }
        return values.count == count
            && allSatisfy { member in
                guard let value = values[member.key.id] else { return false }
                return value == member.value || value.canonical() == member.value.canonical()
            }
    }
}
