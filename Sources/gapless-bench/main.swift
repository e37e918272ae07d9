import Glibc

/// The load generator. Everything it does is a scenario of `Bench`; here it only becomes a process.
exit(Bench.main(CommandLine.arguments))
