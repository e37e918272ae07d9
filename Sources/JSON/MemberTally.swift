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
        visitLast(except: names, knowing: []) { _, size, levels, _ in
            tally.add(size, levels: levels)
        }
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
        visitLast(except: names, knowing: others) { other, size, levels, isNull in
            if let other { isReplaced[other] = true }
            if !isNull { tally.add(size, levels: levels) }
        }
        for (index, other) in others.enumerated() where !isReplaced[index] {
            tally.add(
                other.key.utf8.count + other.value.bytes.count, levels: other.value.slice.levels)
        }
        return tally
    }

    /// Calls `body` with each member that `members(except:)` would have, from the last to the
    /// first: the index of the one among `others` that has its name, its size in bytes, its levels,
    /// and whether it is `null`.
    private func visitLast(
        except names: Set<String>, knowing others: [JSONMember],
        _ body: (_ other: Int?, _ size: Int, _ levels: Int, _ isNull: Bool) -> Void
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
        for place in places.reversed() {
            let (entry, isNew) = table.insert(place.key, in: text)
            var other: Int?
            if !isNew {
                // A name that is left out, one that came already, or one of the others'.
                let index = entry - leftOut
                guard owners.indices.contains(index), let owner = owners[index] else { continue }
                other = owner
                owners[index] = nil
            }
            body(
                other, table.length(entry) + place.value.count, place.levels,
                text[place.value.lowerBound] == UInt8(ascii: "n"))
        }
    }
}
