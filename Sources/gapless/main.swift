import Gateway
import Glibc

/// The program. Everything it does is a command of `Gateway`; here it only becomes a process.
exit(Program.main(CommandLine.arguments))
