import JSON

/// Operations on fields that the gateway does not know. A frame may have thousands, so each
/// operation takes linear, not quadratic, time.
extension [JSONMember] {
    /// These members, with those of `others` replacing equal names or appended; a `null` there
    /// removes the member.
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

    /// Whether both have the same members, in any order.
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
