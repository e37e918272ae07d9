import JSON

/// Fields that the protocol does not name: the application's, in the order in which they came, each
/// name once. Those of a frame that has very many stay in its text, counted, until somebody wants
/// them: a limit may refuse them for their number or their size, and to build thousands of them
/// takes most of what such a refusal costs.
package struct UnknownFields: Sendable, Hashable {
    private enum Storage {
        case built([JSONMember])
        case counted(Counted)
    }

    /// Fields in a text. A class, so that a request is no larger for it.
    private final class Counted: Sendable {
        /// What they are merged into; nil if they are not.
        let base: [JSONMember]?
        let object: JSONObject
        /// The names in `object` that are none of them.
        let known: Set<String>
        let tally: MemberTally

        init(_ object: JSONObject, except known: Set<String>, mergedInto base: [JSONMember]?) {
            self.base = base
            self.object = object
            self.known = known
            tally =
                base.map { object.tally(except: known, mergedInto: $0) }
                ?? object.tally(except: known)
        }

        var members: [JSONMember] {
            guard let base else { return object.members(except: known) }
            return base.merged(with: object.members(except: known, changing: base))
        }
    }

    private let storage: Storage

    /// More than these are counted, and built when they are wanted: as many as
    /// `limits.unknown_fields` accepts, unless it is set.
    private static let few = 100

    /// Fields that are there already, each of another name.
    package init(_ members: [JSONMember]) { storage = .built(members) }

    private init(_ counted: Counted) { storage = .counted(counted) }

    /// The members of an object whose names are not in `known`; of duplicates, the last.
    init(of object: JSONObject, except known: Set<String>) {
        if object.length > Self.few {
            let counted = Counted(object, except: known, mergedInto: nil)
            if counted.tally.count > Self.few {
                self.init(counted)
                return
            }
        }
        self.init(object.members(except: known))
    }

    /// The fields, with their texts. Fields that were only counted are built anew by each call.
    package var members: [JSONMember] {
        switch storage {
        case .built(let members): members
        case .counted(let counted): counted.members
        }
    }

    /// The same fields, built.
    package var built: UnknownFields {
        if case .counted(let counted) = storage { UnknownFields(counted.members) } else { self }
    }

    package var isEmpty: Bool { count == 0 }

    /// How many there are.
    package var count: Int {
        switch storage {
        case .built(let members): members.count
        case .counted(let counted): counted.tally.count
        }
    }

    /// The bytes of names and values.
    package var size: Int {
        switch storage {
        case .built(let members): members.size
        case .counted(let counted): counted.tally.size
        }
    }

    /// Whether no value nests deeper than is accepted.
    var isKept: Bool {
        switch storage {
        case .built(let members): Nesting.isKept(by: members)
        case .counted(let counted): counted.tally.levels <= Nesting.limit
        }
    }

    /// These fields, with those of `others` replacing equal names or appended; a `null` there takes
    /// a field away. What was only counted is counted again, and not built.
    package func merged(with others: UnknownFields) -> UnknownFields {
        guard case .counted(let counted) = others.storage, counted.base == nil else {
            return UnknownFields(members.merged(with: others.members))
        }
        return UnknownFields(
            Counted(counted.object, except: counted.known, mergedInto: members))
    }

    package static func == (a: UnknownFields, b: UnknownFields) -> Bool {
        a.count == b.count && a.members == b.members
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(members) }
}
