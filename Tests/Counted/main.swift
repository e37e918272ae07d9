import Commands
import Counting
import Glibc

/// The program as it is, but for `malloc`, which counts: how often is for who started it to read.
exit(Program.main(CommandLine.arguments))
