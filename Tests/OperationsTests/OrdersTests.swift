import Testing
import WebSockets
import Wire

@testable import Gateway

/// What goes to another loop in a turn.
@Suite struct OrdersTests {
    private static func frame(_ text: String) -> Wire.Frame { Wire.Frame(Array(text.utf8)) }

    /// Adds a write for each of the lists, to sockets 0, 1, ….
    private static func orders(_ writes: [[Wire.Frame]]) -> Orders {
        var orders = Orders()
        for (number, frames) in writes.enumerated() {
            orders.begin()
            for frame in frames { orders.append(frame) }
            orders.end(for: SocketID(rawValue: UInt64(number)))
        }
        return orders
    }

    /// The same lists again.
    private static func expect(_ orders: Orders, toBe writes: [[Wire.Frame]]) {
        #expect(orders.writes.map(\.socket.rawValue) == (0..<UInt64(writes.count)).map { $0 })
        for (write, frames) in zip(orders.writes, writes) {
            #expect(orders.frames[write.frames].elementsEqual(frames) { $0 === $1 })
        }
    }

    @Test func whatManyAreSentIsThereOnce() {
        let frame = Self.frame("shared")
        let writes = Array(repeating: [frame], count: 100)
        let orders = Self.orders(writes)
        Self.expect(orders, toBe: writes)
        #expect(orders.frames.count == 1)
    }

    @Test func runsAreSharedAsFarAsTheyAreTheSame() {
        let (one, two, own) = (Self.frame("one"), Self.frame("two"), Self.frame("own"))
        let writes = [
            [one, two], [one, two], [one], [one, two], [one, own], [one, own, two], [two], [own],
        ]
        let orders = Self.orders(writes)
        Self.expect(orders, toBe: writes)
        #expect(orders.frames.count == 9)
    }

    @Test func framesThatOnlyLookTheSameAreNot() {
        let writes = [[Self.frame("same")], [Self.frame("same")]]
        let orders = Self.orders(writes)
        Self.expect(orders, toBe: writes)
        #expect(orders.frames.count == 2)
    }

    @Test func whoIsSentNothingIsNotWrittenTo() {
        var orders = Orders()
        orders.begin()
        orders.end(for: SocketID(rawValue: 1))
        #expect(orders.isEmpty)
        orders.heard = 1
        #expect(!orders.isEmpty)
    }

    @Test func oneCoreIsLeftToOthers() {
        #expect(SideLoops.count(3) == 3)
        #expect((1...64).contains(SideLoops.count(0)))
    }
}
