import FuzzTargets
import Glibc

/// Feeds one fuzz target with what libFuzzer invents: `FUZZ_TARGET=json gapless-fuzz CORPUS…`, with
/// libFuzzer's own options, or with files, each of which is run once. The target's name comes by
/// the environment because libFuzzer starts itself again with its own arguments.
private let target: FuzzTarget = {
    if let name = getenv("FUZZ_TARGET"), let target = FuzzTarget(rawValue: String(cString: name)) {
        return target
    }
    let names = FuzzTarget.allCases.map(\.rawValue).joined(separator: ", ")
    let text = "FUZZ_TARGET: missing, or none of \(names)\n"
    _ = write(STDERR_FILENO, text, text.utf8.count)
    exit(2)
}()

/// What libFuzzer's own main calls with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func runOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    target.run(Array(UnsafeBufferPointer(start: bytes, count: count)))
    return 0
}
