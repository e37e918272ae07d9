import Cache
import Ports
import Synchronization
import Testing
import Upstream

/// What the embedded upstream says is handed on at the same price, however much it has said.
@Suite struct OutletTests {
    @Test func aDeliveryIsAsDeepInTheStackAsTheFirst() throws {
        let directory = try Origin.makeDirectory()
        let store = try Store(Store.Options(path: directory + "/gapless.db", origin: "embedded"))
        let embedded = try Embedded(store)
        let depths = Mutex<[UInt]>([])
        embedded.start { _ in
            var here: UInt8 = 0
            let depth = withUnsafeMutablePointer(to: &here) { UInt(bitPattern: $0) }
            depths.withLock { $0.append(depth) }
        }
        for _ in 0..<100 { embedded.submit([.subscribe("c1")]) }
        embedded.stop()
        let seen = depths.withLock { $0 }
        #expect(seen.count == 100)
        #expect(Set(seen).count == 1, "\(seen.first ?? 0) … \(seen.last ?? 0)")
    }
}
