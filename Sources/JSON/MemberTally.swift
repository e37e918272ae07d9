/// Members of an object, counted where they lie: none of them is built.
package struct MemberTally: Sendable, Hashable {
    /// How many there are; of duplicates, the last counts.
    package var count = 0
    /// The bytes of their names, unescaped, and of their values.
    package var size = 0
    /// The most arrays and objects that lie in each other in one of their values.
    package var levels = 0

    package init(count: Int = 0, size: Int = 0, levels: Int = 0) {
        self.count = count
        self.size = size
        self.levels = levels
    }

    fileprivate mutating func add(_ bytes: Int, levels more: Int) {
        count += 1
        size += bytes
        levels = max(levels, more)
    }
}

extension JSONObject {
    /// How many members its text has, duplicates included.
    package var length: Int {
        switch storage {
        case .members(let members): members.count
        case .places(let places, _): places.count
        }
    }

    /// What `members(except: names)` would be.
    /// - Parameter names: of ASCII, which looks like no other: they are compared by their bytes.
    package func tally(except names: Set<String>) -> MemberTally {
        var tally = MemberTally()
        visitLast(except: names, knowing: []) { tally.add($0.size, levels: $0.levels) }
        return tally
    }

    /// What `others` would be if `members(except: names)` replaced those of the same names, where
    /// `null` takes one away, and the rest were added.
    /// - Parameter others: each of another name.
    package func tally(
        except names: Set<String>, mergedInto others: [JSONMember]
    ) -> MemberTally {
        var tally = MemberTally()
        var isReplaced = [Bool](repeating: false, count: others.count)
        visitLast(except: names, knowing: others) { seen in
            if let other = seen.other { isReplaced[other] = true }
            if !seen.isNull { tally.add(seen.size, levels: seen.levels) }
        }
        for (index, other) in others.enumerated() where !isReplaced[index] {
            tally.add(
                other.key.utf8.count + other.value.bytes.count, levels: other.value.slice.levels)
        }
        return tally
    }

    /// The members of `members(except: names)` that change `others` when they are merged with them:
    /// a `null` for a name that none of those has is not made.
    package func members(
        except names: Set<String>, changing others: [JSONMember]
    ) -> [JSONMember] {
        members(except: names, knowing: others) { isKnown, isNull in isKnown || !isNull }
    }

    /// The members of `members(except: names)` that `isWanted`, by whether one of `others` has the
    /// name and whether the value is `null`. Only these are made.
    func members(
        except names: Set<String>, knowing others: [JSONMember],
        where isWanted: (_ isKnown: Bool, _ isNull: Bool) -> Bool
    ) -> [JSONMember] {
        guard case .places(let places, let text) = storage else {
            // Members that were built already.
            let object = try? JSONObject(inPlace: bytes)
            return object?.members(except: names, knowing: others, where: isWanted) ?? []
        }
        var wanted: [Int] = []
        visitLast(except: names, knowing: others) { seen in
            if isWanted(seen.other != nil, seen.isNull) { wanted.append(seen.place) }
        }
        return wanted.reversed().map { index in
            let place = places[index]
            return JSONMember(
                key: Self.name(place.key, in: text), value: RawJSON(of: text, place.value))
        }
    }

    /// A member where it lies.
    private struct Seen {
        /// Its index among all.
        let place: Int
        /// The index of the one among the others that has its name.
        let other: Int?
        /// In bytes, of its name and value.
        let size: Int
        let levels: Int
        let isNull: Bool
    }

    /// Calls `body` with each member that `members(except:)` would have, from the last to the
    /// first.
    private func visitLast(
        except names: Set<String>, knowing others: [JSONMember], _ body: (Seen) -> Void
    ) {
        guard case .places(let places, let text) = storage else {
            // Members that were built already.
            let object = try? JSONObject(inPlace: bytes)
            object?.visitLast(except: names, knowing: others, body)
            return
        }
        var table = NameTable(capacity: names.count + others.count + places.count)
        for name in names { _ = table.insert(name) }
        let leftOut = table.count
        // Of duplicates, the last counts here too.
        var owners: [Int?] = []
        for (index, other) in others.enumerated() {
            let (entry, isNew) = table.insert(other.key)
            if isNew {
                owners.append(index)
            } else if entry >= leftOut {
                owners[entry - leftOut] = index
            }
        }
        for (index, place) in places.enumerated().reversed() {
            let (entry, isNew) = table.insert(place.key, in: text)
            var other: Int?
            if !isNew {
                // A name that is left out, one that came already, or one of the others'.
                let known = entry - leftOut
                guard owners.indices.contains(known), let owner = owners[known] else { continue }
                other = owner
                owners[known] = nil
            }
            body(
                Seen(
                    place: index, other: other, size: table.length(entry) + place.value.count,
                    levels: place.levels,
                    isNull: text[place.value.lowerBound] == UInt8(ascii: "n")))
        }
    }
}
