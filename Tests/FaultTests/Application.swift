import Glibc
import Postgres
import TestSupport

/// A shop that writes an order and the message about it in one transaction, from many connections
/// at a time, in all isolation levels, with savepoints and rollbacks; and beside it a poller that
/// follows its table by the last number that it has seen.
final class Application {
    /// What the transactions came to.
    struct Tally: Sendable {
        var committed = 0
        var rolledBack = 0
        /// By SQLSTATE; the connection broke: `08006`.
        var refused: [String: Int] = [:]

        mutating func add(_ other: Tally) {
            committed += other.committed
            rolledBack += other.rolledBack
            refused.merge(other.refused, uniquingKeysWith: +)
        }
    }

    static let connectionCount = 16
    private static let levels = ["read committed", "repeatable read", "serializable"]

    private let url: String
    private let buyers: [Background<Tally>]
    private let poller: Background<Set<Int>>

    /// - Throws: what the server says against the table of the orders.
    init(_ url: String, _ conversations: [String], _ ledger: Ledger, seed: UInt64) throws {
        self.url = url
        try SchemaSession(url).run(
            """
            create table orders (
              id bigint generated always as identity primary key, conversation text not null)
            """)
        buyers = (0..<Self.connectionCount).map { place in
            Background { stop in
                var buyer = Buyer(
                    url: url, level: Self.levels[place % 3], conversations: conversations,
                    ledger: ledger, random: SplitMix64(seed: seed &+ UInt64(place)))
                while !stop.isOver { buyer.turn() }
                return buyer.tally
            }
        }
        poller = Background { stop in
            var poller = Poller(url: url)
            // What is there at the end it sees.
            while !stop.isOver { _ = poller.look() }
            while !poller.look() {}
            return poller.seen
        }
    }

    deinit {
        for buyer in buyers { buyer.end() }
        poller.end()
    }

    /// No further transaction begins.
    func end() { for buyer in buyers { buyer.end() } }

    var isDone: Bool { buyers.allSatisfy(\.isDone) }

    /// What the transactions came to, when they have ended.
    func tally() throws -> Tally {
        try buyers.reduce(into: Tally()) { $0.add(try $1.join()) }
    }

    /// What the poller has seen, to its last look.
    func polled() throws -> Set<Int> {
        poller.end()
        return try poller.join()
    }

    /// The numbers of the orders, by conversation.
    func orders() throws -> [String: Set<Int>] {
        var orders: [String: Set<Int>] = [:]
        for row in try SchemaSession(url).run("select id, conversation from orders") {
            guard let id = row[0].flatMap({ Int($0) }), let conversation = row[1] else { continue }
            orders[conversation, default: []].insert(id)
        }
        return orders
    }

    /// How many of the orders that are there somebody does not know of.
    static func lost(of orders: Set<Int>, by seen: Set<Int>) -> Int {
        orders.subtracting(seen).count
    }
}

/// One connection of the shop.
private struct Buyer {
    let url: String
    let level: String
    let conversations: [String]
    let ledger: Ledger
    var random: SplitMix64
    var tally = Application.Tally()
    private var session: SchemaSession?

    init(
        url: String, level: String, conversations: [String], ledger: Ledger, random: SplitMix64
    ) {
        self.url = url
        self.level = level
        self.conversations = conversations
        self.ledger = ledger
        self.random = random
    }

    /// One transaction, and a pause.
    mutating func turn() {
        do {
            let session = try session ?? SchemaSession(url)
            self.session = session
            do {
                try transact(session)
            } catch {
                note(error)
                try session.run("rollback")
            }
        } catch {
            session = nil
            note(error)
        }
        usleep(UInt32.random(in: 50_000...500_000, using: &random))
    }

    private mutating func note(_ error: any Error) {
        let state = (error as? SchemaSession.Refusal)?.state ?? "\(error)"
        tally.refused[state, default: 0] += 1
    }

    private mutating func transact(_ session: SchemaSession) throws {
        // A transaction on two conversations takes them in the order of their ids, or now and then
        // does not.
        var places = [0, 1].map { _ in Int.random(in: 0..<conversations.count, using: &random) }
        if !random.happens(5) { places.sort() }
        let (first, last) = (conversations[places[0]], conversations[places[1]])
        try session.run("begin isolation level \(level)")
        if random.happens(30) {
            try session.run("select count(*) from gapless.messages('\(last)', '{}')")
        }
        if random.happens(40) {
            try session.run("savepoint before; " + order(first))
            if random.happens(50) { try session.run("rollback to before") }
        }
        let message = try session.run(order(last))[0][0] ?? ""
        if random.happens(15) {
            try session.run("rollback")
            tally.rolledBack += 1
            return
        }
        try session.run("commit")
        tally.committed += 1
        ledger.note(last, try JSONValue(parsing: Array(message.utf8)))
    }

    /// The number of an order is drawn, the shop has something to do, and the message is written.
    private mutating func order(_ conversation: String) -> String {
        let pause = Double.random(in: 0...0.05, using: &random)
        return """
            with o as (insert into orders (conversation) values ('\(conversation)') returning id),
              done as (select id, pg_sleep(\(pause)) from o)
            select gapless.post_message('\(conversation)', 'shop', jsonb_build_object(
              'id', 'order-' || id, 'body', 'Your order ' || id || ' is on its way.', 'order', id))
            from done
            """
    }
}

/// What most people write who follow a table: all above the last number that was seen.
private struct Poller {
    let url: String
    var seen: Set<Int> = []
    private var last = 0
    private var session: SchemaSession?

    init(url: String) { self.url = url }

    /// - Returns: Whether the table could be read.
    mutating func look() -> Bool {
        defer { usleep(50_000) }
        do {
            let session = try session ?? SchemaSession(url)
            self.session = session
            let rows = try session.run("select id from orders where id > \(last) order by id")
            for row in rows {
                guard let id = row[0].flatMap({ Int($0) }) else { continue }
                seen.insert(id)
                last = max(last, id)
            }
            return true
        } catch {
            session = nil
            return false
        }
    }
}
