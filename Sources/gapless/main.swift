import Gateway
import Glibc

exit(Program.main(CommandLine.arguments))
