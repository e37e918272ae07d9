import TestSupport

/// What happens in a world of faces, as data, so that a run can be repeated and made smaller.
enum Deed: Sendable, CustomStringConvertible {
    case write(Int), edit(Int), delete(Int), trim(Int), recreate
    case slow(Int, Int), lack(Int, Int), heal
    case cut, mend, refuse(Int), time(Int)
    case serve(Int), deliver(Int), tell(Int)
    case open(Int), close(Int), top(Int), bottom(Int), scroll(Int, Int), jump(Int, Int)
    case shrink(Int, Int)
    case send(Int), rewrite(Int, Int), read(Int, Int), again, forsake, rewind(Int), restart
    /// What an app, its user and its machine do that nobody wants: beside those of the vector.
    case clock(Int), throwing(Int), loseStore, long(Int), shorten(Int)

    init(_ random: inout SplitMix64) {
        func up(to bound: Int) -> Int { Int.random(in: 0..<bound, using: &random) }
        let face = up(to: 4)
        switch up(to: 126) {
        case ..<14:
            self = .write(up(to: 10) == 0 ? up(to: up(to: 4) == 0 ? 5_000 : 400) : up(to: 30))
        case ..<19: self = .edit(up(to: 1_000))
        case ..<22: self = .delete(up(to: 1_000))
        case ..<23: self = .trim(up(to: 600))
        case ..<24: self = .recreate
        case ..<26: self = .slow(up(to: 1_000), up(to: 40))
        case ..<28: self = .lack(up(to: 1_000), up(to: 40))
        case ..<30: self = .heal
        case ..<35: self = .cut
        case ..<41: self = .mend
        case ..<43: self = .refuse(1 + up(to: 3))
        case ..<46: self = .time(up(to: 40_000))
        case ..<56: self = .serve(1 + up(to: 4))
        case ..<64: self = .deliver(1 + up(to: 6))
        case ..<74: self = .tell(1 + up(to: 8))
        case ..<79: self = .open(face)
        case ..<81: self = .close(face)
        case ..<85: self = .top(face)
        case ..<90: self = .bottom(face)
        case ..<96: self = .scroll(face, up(to: 1_000))
        case ..<98: self = .jump(face, up(to: 1_300))
        case ..<100: self = .shrink(face, up(to: 1_000))
        case ..<110: self = .send(face)
        case ..<117: self = .rewrite(face, up(to: 1_000))
        case ..<119: self = .read(face, up(to: 1_000))
        case ..<121: self = .again
        case ..<122: self = .forsake
        case ..<124: self = .rewind(up(to: 1_000))
        default: self = .restart
        }
    }

    /// One that nobody wants.
    static func mishap(_ random: inout SplitMix64) -> Deed {
        func up(to bound: Int) -> Int { Int.random(in: 0..<bound, using: &random) }
        return switch up(to: 14) {
        case ..<1: .shorten(up(to: 4))
        case ..<3: .clock(up(to: 200_000_000) - 100_000_000)
        case ..<6: .throwing(1 + up(to: 3))
        case ..<10: .long(up(to: 4))
        case ..<12: .shorten(up(to: 4))
        default: .loseStore
        }
    }

    var description: String {
        switch self {
        case .clock(let n): ".clock(\(n))"
        case .throwing(let n): ".throwing(\(n))"
        case .loseStore: ".loseStore"
        case .long(let n): ".long(\(n))"
        case .shorten(let n): ".shorten(\(n))"
        case .write(let n): ".write(\(n))"
        case .edit(let n): ".edit(\(n))"
        case .delete(let n): ".delete(\(n))"
        case .trim(let n): ".trim(\(n))"
        case .recreate: ".recreate"
        case .slow(let a, let b): ".slow(\(a), \(b))"
        case .lack(let a, let b): ".lack(\(a), \(b))"
        case .heal: ".heal"
        case .cut: ".cut"
        case .mend: ".mend"
        case .refuse(let n): ".refuse(\(n))"
        case .time(let n): ".time(\(n))"
        case .serve(let n): ".serve(\(n))"
        case .deliver(let n): ".deliver(\(n))"
        case .tell(let n): ".tell(\(n))"
        case .open(let n): ".open(\(n))"
        case .close(let n): ".close(\(n))"
        case .top(let n): ".top(\(n))"
        case .bottom(let n): ".bottom(\(n))"
        case .scroll(let a, let b): ".scroll(\(a), \(b))"
        case .jump(let a, let b): ".jump(\(a), \(b))"
        case .shrink(let a, let b): ".shrink(\(a), \(b))"
        case .send(let n): ".send(\(n))"
        case .rewrite(let a, let b): ".rewrite(\(a), \(b))"
        case .read(let a, let b): ".read(\(a), \(b))"
        case .again: ".again"
        case .forsake: ".forsake"
        case .rewind(let n): ".rewind(\(n))"
        case .restart: ".restart"
        }
    }
}
