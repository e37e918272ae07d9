/// Whom a message mentions.
package struct Mentioned: Sendable, Hashable {
    package var users: [String]
    /// Whether it mentions everybody.
    package var all: Bool

    package init(users: [String] = [], all: Bool = false) {
        self.users = users
        self.all = all
    }

    package var isEmpty: Bool { users.isEmpty && !all }

    /// Whether it mentions the user.
    package func includes(_ user: String) -> Bool {
        all || users.contains { $0.isSameID(user) }
    }
}
