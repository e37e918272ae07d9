import Bench
import Glibc

/// The load generator. Everything it does is a scenario of `LoadGenerator`; here it only becomes a
/// process.
exit(LoadGenerator.main(CommandLine.arguments))
