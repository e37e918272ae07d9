import Bench
import CacheBench
import Glibc

/// The load generator. All its functions are scenarios of `LoadGenerator`; this file only makes it
/// a process.
let scenarios = Scenarios.all.map { $0.name == "pages" ? $0.with(.cachedPages) : $0 }
exit(LoadGenerator.main(CommandLine.arguments, scenarios: scenarios + [.apply]))
