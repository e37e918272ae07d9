/// A log as a gateway has it, in as few lines as it takes: every place from `floor` to `seq` has a
/// message, whose text says which value it is.
struct ModelLog {
    struct Entry {
        var id: String
        var author: String
        var rev: Int
        /// In which life of the log the value was written.
        var life: Int
        var body: String
        var isDeleted = false
    }

    private(set) var epoch = 1
    /// Rises whenever the log begins anew, or loses its end.
    private(set) var life = 1
    private(set) var floor = 1
    /// The values of each place, oldest first.
    private var values: [[Entry]] = []
    /// The messages that were ever deleted.
    private var deleted: Set<String> = []
    /// In which life each change was made.
    private var marks = [1]

    var seq: Int { values.count }
    var rev: Int { marks.count - 1 }
    var head: String {
        "{\"epoch\":\"e\(epoch)\",\"seq\":\(seq),\"rev\":\(rev),\"mark\":\"\(mark(rev))\","
            + "\"floor\":\(floor)}"
    }

    func mark(_ rev: Int) -> String { "m\(epoch).\(marks[rev])" }
    /// Whether a mark that was the newest once is of the log as it is now: in each life of it the
    /// first change comes at once.
    func isOfSameLife(_ mark: String) -> Bool { mark == "m\(epoch).\(life)" }
    func id(_ seq: Int) -> String { seq > self.seq ? "none" : values[seq - 1][0].id }
    func entry(_ seq: Int) -> Entry? {
        seq >= floor && seq <= self.seq ? values[seq - 1].last : nil
    }

    func wasDeleted(_ id: String) -> Bool { deleted.contains(id) }

    /// Where a message is, be it trimmed or not.
    func place(of id: String) -> Int? {
        values.lastIndex { $0[0].id == id }.map { $0 + 1 }
    }

    /// - Parameter own: id and text of a message that alice sent; nil for one of bob's.
    mutating func write(_ own: (id: String, body: String)? = nil) {
        marks.append(life)
        let seq = seq + 1
        values.append([
            Entry(
                id: own?.id ?? "\(epoch).\(life)-\(seq)", author: own == nil ? "bob" : "alice",
                rev: rev, life: life, body: own?.body ?? text(seq))
        ])
    }

    /// - Returns: the place that changed; nil if there is none.
    mutating func change(_ seq: Int, delete: Bool, body: String? = nil) -> Int? {
        guard var entry = entry(seq), !entry.isDeleted else { return nil }
        marks.append(life)
        entry.rev = rev
        entry.life = life
        entry.body = body ?? text(seq)
        entry.isDeleted = delete
        values[seq - 1].append(entry)
        if delete { deleted.insert(entry.id) }
        return seq
    }

    mutating func trim(to floor: Int) { self.floor = max(self.floor, min(floor, seq + 1)) }

    mutating func recreate() {
        let (epoch, life, deleted) = (epoch + 1, life + 1, deleted)
        self = ModelLog()
        self.deleted = deleted
        self.epoch = epoch
        self.life = life
        marks = [life]
    }

    /// Loses the changes behind one; what comes next is of another life.
    mutating func rewind(to rev: Int) {
        life += 1
        marks.removeLast(self.rev - min(rev, self.rev))
        for index in values.indices { values[index].removeAll { $0.rev > rev } }
        while values.last?.isEmpty == true { values.removeLast() }
        floor = min(floor, max(1, seq))
        // At once, so that no two lives end with one and the same mark.
        write()
    }

    private func text(_ seq: Int) -> String { "\(epoch).\(life) \(seq) \(rev)" }

    func message(_ seq: Int) -> String {
        guard let entry = values[seq - 1].last else { return "" }
        let content = entry.isDeleted ? "\"deleted\":true" : "\"body\":\"\(entry.body)\""
        return "{\"id\":\"\(entry.id)\",\"conversation\":\"c\",\"seq\":\(seq),"
            + "\"rev\":\(entry.rev),\"author\":\"\(entry.author)\","
            + "\"createdAt\":\"2026-11-20T10:00:00.000Z\",\(content)}"
    }

    func deltas(_ places: [Int], via: String) -> String {
        let list = places.map { seq in
            let isDeleted = values[seq - 1].last?.isDeleted == true
            let isFirst = values[seq - 1].count == 1
            let type = isDeleted ? "deleted" : via == "live" && !isFirst ? "updated" : "inserted"
            return "{\"type\":\"\(type)\",\"via\":\"\(via)\",\"message\":\(message(seq))}"
        }
        return "[\(list.joined(separator: ","))]"
    }
}

/// What a gateway carried out of what a client wrote.
struct WrittenByGateway {
    /// An edit or a deletion: of which value, and which it made.
    struct Edit {
        var id: String
        var of: Int
        var life: Int
        /// Whether the request named the value.
        var isKnown: Bool
        var made: Int
        var madeIn: Int
        /// Whether the log began anew while the request was on its way.
        var isLate: Bool
    }

    /// The text with which each message arrived, in the order in which they did.
    private(set) var messages: [(id: String, body: String, life: Int)] = []
    private(set) var edits: [Edit] = []
    /// The life of the log in which each text of an edit was made.
    private(set) var texts: [String: Int] = [:]
    /// Up to where the user has read.
    var read = 0

    mutating func arrived(_ id: String, _ body: String, _ log: ModelLog) {
        messages.append((id, body, log.life))
        texts[body] = log.life
    }

    mutating func edited(_ edit: Edit, _ body: String?) {
        edits.append(edit)
        if let body { texts[body] = edit.madeIn }
    }
}
