import Foundation
import Simulation

/// What the environment says of a simulation. `SIMULATION_SEEDS` runs that many seeds of each kind
/// instead of the usual ones, `SIMULATION_FIRST` begins elsewhere, `SIMULATION_ENDLESS` goes on
/// from there until it is stopped, or has run that many seeds or `SIMULATION_SECONDS`.
/// `SIMULATION_SEED`, with `_WORLD`, `_STEPS`, `_PACED`, `_RINGING`, `_REACTS` and `_WITHOUT`, runs
/// one world and prints what happens in it: what a failing seed asks for.
enum Setting {
    private static func text(_ name: String) -> String? {
        ProcessInfo.processInfo.environment["SIMULATION_" + name]
    }

    private static func number(_ name: String) -> Int? { text(name).flatMap { Int($0) } }

    static let seeds = number("SEEDS") ?? 500
    static let first = number("FIRST") ?? 1
    static let seed = number("SEED")
    static let steps = number("STEPS") ?? 80
    static let kind = text("WORLD").flatMap(Trial.Kind.init) ?? .embedded
    static let isPaced = text("PACED") != nil
    static let isRinging = text("RINGING") != nil
    static let reacts = text("REACTS") != nil
    static let isEndless = text("ENDLESS") != nil
    static let lastSeed = number("SEEDS").map { first + $0 - 1 } ?? .max
    static let duration = number("SECONDS").map { Duration.seconds($0) }
    static let without = Set(
        (text("WITHOUT") ?? "").split(separator: ",").compactMap { Fault(rawValue: String($0)) })
}
