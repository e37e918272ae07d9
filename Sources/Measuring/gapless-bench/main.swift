import Bench
import CacheBench
import Glibc

/// The load generator. Everything it does is a scenario of `LoadGenerator`; here it only becomes a
/// process.
let scenarios = Scenario.all.map { $0.name == "pages" ? $0.with(.cachedPages) : $0 }
exit(LoadGenerator.main(CommandLine.arguments, scenarios: scenarios + [.apply]))
