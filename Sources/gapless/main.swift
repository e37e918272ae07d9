import Commands
import Glibc

/// The program. Everything it does is a command of `Commands`; here it only becomes a process.
exit(Program.main(CommandLine.arguments))
