import Foundation
import TestSupport

/// What a disk can do to who writes to it.
enum DiskFault: String, CaseIterable, Sendable {
    case full = "disk full"

    /// Whether nothing can be written as long as it lasts.
    var isLasting: Bool { true }
}

/// A disk that is hurt and healed while a gateway writes to it: a small file system.
final class HurtDisk {
    let fault: DiskFault
    private let small: SmallDisk

    /// Room for some ten thousand messages. The write-ahead log alone takes 4 MiB before it is
    /// brought over.
    private static let kilobytes = 24 * 1024

    init(_ fault: DiskFault) throws {
        self.fault = fault
        small = try SmallDisk(kilobytes: Self.kilobytes)
    }

    var settings: [String: String] { ["cache.path": small.directory + "/gapless.db"] }

    /// What a gateway is started by that is to be hurt.
    var launcher: [String] { small.launcher }

    /// What a gateway is started by that no call fails for.
    var soundLauncher: [String] { small.launcher }

    /// The gateway's file, for who is outside.
    func file(of gateway: GatewayProcess) -> String { small.outside + "/gapless.db" }

    /// - Throws: `TestFailure`.
    func hurt(_ gateway: GatewayProcess) throws { try small.fill() }

    /// - Throws: `TestFailure`.
    func heal(_ gateway: GatewayProcess) throws { small.free() }
}

extension GatewayProcess {
    var isReady: Bool { (try? health("/health/ready").status) == 200 }
}
