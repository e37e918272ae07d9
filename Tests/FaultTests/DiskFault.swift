import Foundation
import TestSupport

/// What a disk can do to who writes to it.
enum DiskFault: String, CaseIterable, Sendable {
    case full = "disk full"
    case writeErrors = "write errors"
    case syncErrors = "sync errors"
    /// Now and then a write, a sync or a truncation fails, or a write takes only a part.
    case someErrors = "some errors"

    /// Whether nothing can be written as long as it lasts.
    var isLasting: Bool { self != .someErrors }
}

/// A disk that is hurt and healed while a gateway writes to it. A full one is a small file system,
/// errors are those of the calls that SQLite makes.
final class HurtDisk {
    let fault: DiskFault
    private let small: SmallDisk?
    private let calls: CallFaults?

    /// Room for some ten thousand messages. The write-ahead log alone takes 4 MiB before it is
    /// brought over.
    private static let kilobytes = 24 * 1024

    init(_ fault: DiskFault) throws {
        self.fault = fault
        small = fault == .full ? try SmallDisk(kilobytes: Self.kilobytes) : nil
        calls = fault == .full ? nil : try CallFaults()
    }

    var settings: [String: String] {
        small.map { ["cache.path": $0.directory + "/gapless.db"] } ?? [:]
    }

    /// What a gateway is started by that is to be hurt.
    var launcher: [String] { small?.launcher ?? calls?.launcher ?? [] }

    /// What a gateway is started by that no call fails for.
    var soundLauncher: [String] { small?.launcher ?? [] }

    /// The gateway's file, for who is outside.
    func file(of gateway: GatewayProcess) -> String {
        (small?.outside ?? gateway.directory.path) + "/gapless.db"
    }

    /// - Throws: `TestFailure`.
    func hurt(_ gateway: GatewayProcess) throws {
        try small?.fill()
        guard let calls, let process = gateway.processID else { return }
        switch fault {
        case .full: break
        case .writeErrors: try calls.fail(.write, in: process)
        case .syncErrors: try calls.fail(.sync, in: process)
        case .someErrors:
            try calls.fail(.write, in: process, probability: 0.05)
            try calls.fail(.shortWrite, in: process, probability: 0.2)
            try calls.fail(.sync, in: process, probability: 0.2)
            try calls.fail(.truncate, in: process, probability: 0.5)
        }
    }

    /// - Throws: `TestFailure`.
    func heal(_ gateway: GatewayProcess) throws {
        small?.free()
        guard let calls, let process = gateway.processID, gateway.isRunning else { return }
        switch fault {
        case .full: break
        case .writeErrors: try calls.mend(.write, in: process)
        case .syncErrors: try calls.mend(.sync, in: process)
        case .someErrors:
            for call in [CallFaults.Call.write, .shortWrite, .sync, .truncate] {
                try calls.mend(call, in: process)
            }
        }
    }
}

extension GatewayProcess {
    var isReady: Bool { (try? health("/health/ready").status) == 200 }
}
