import Cache
import Chat
import Ports
import TestSupport
import Testing
import Wire

/// The cache of another origin against dictionaries: random writes, in transactions of which some
/// are refused and some fail, in a file that is opened again now and then.
@Suite struct ReplicaCachePropertyTests {
    @Test(arguments: UInt64(0)..<42)
    func whatIsWrittenIsWhatIsReadAndAFailureLeavesNoTrace(seed: UInt64) throws {
        let world = try ReplicaWorld(seed: seed)
        for step in 0..<50 {
            world.name = "seed \(seed), step \(step)"
            switch Int.random(in: 0..<20, using: &world.origin.random) {
            case 0: try world.reopen()
            case 1...2: try world.tidy()
            default: break
            }
            try world.turn()
            try world.compare()
            if step % 5 == 0 { try world.audit() }
            try #require(!world.isWrong, "\(world.name)")
        }
        try world.finish()
    }
}
