/// Whom a message mentions; equal if the ids have the same bytes.
package struct Mentioned: Sendable, Equatable {
    package var users: [String]
    /// Whether it mentions everybody.
    package var all: Bool

    package init(users: [String] = [], all: Bool = false) {
        self.users = users
        self.all = all
    }

    package static func == (a: Mentioned, b: Mentioned) -> Bool {
        a.all == b.all && a.users.elementsEqual(b.users) { $0.isSameID($1) }
    }

    package var isEmpty: Bool { users.isEmpty && !all }

    /// Whether it mentions the user.
    package func includes(_ user: String) -> Bool {
        all || users.contains { $0.isSameID(user) }
    }
}
