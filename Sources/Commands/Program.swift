import Configuration
import Gateway

/// The command line of `gapless`: finds the command, parses its arguments, runs it, and gives the
/// exit code: 0 done, 1 failed, 2 wrong usage.
package enum Program {
    /// Every command, in the order of the help.
    static let commands: [Command] = [
        .serve, .initialize, .genconfig, .checkconfig, .configdoc, .gentoken, .checktoken, .replay,
        .bench,
        .backup, .repair, .postgres, .enable, .explain, .live, .version,
    ]

    /// Runs the process; `arguments` begins with the program's own name.
    package static func main(_ arguments: [String]) -> Int32 {
        run(Array(arguments.dropFirst()), console: .process())
    }

    /// Runs one command line.
    package static func run(_ arguments: [String], console: Console) -> Int32 {
        var words = arguments[...]
        let first = words.first ?? ""
        switch first {
        case "--help", "-h", "help":
            console.write(help)
            return 0
        case "--version":
            words = ["version"]
        case _ where first.isEmpty || first.hasPrefix("-"):
            // Options without a command are those of `serve`.
            words = ["serve"] + words
        default: break
        }
        let name = words.removeFirst()
        guard let command = commands.first(where: { $0.name == name }) else {
            let hint = ClosestMatch.hint(for: name, in: commands.map(\.name))
            return misused("no command \(quoted(name))\(hint)", see: "gapless --help", console)
        }
        do throws(CommandError) {
            let arguments = try Arguments(words, of: command)
            if arguments.wantsHelp {
                console.write(command.help)
                return 0
            }
            return try command.run(arguments, console)
        } catch {
            switch error {
            case .usage(let message):
                return misused(message, see: "gapless \(name) --help", console)
            case .failure(let message):
                for line in message.split(separator: "\n") {
                    console.complain("gapless \(name): \(line)\n")
                }
                return 1
            }
        }
    }

    private static func misused(_ message: String, see: String, _ console: Console) -> Int32 {
        console.complain("gapless: \(message)\nsee \(see)\n")
        return 2
    }

    private static var help: String {
        """
        usage: gapless [COMMAND] [options]

        A realtime chat gateway: no client ever takes a hole for silence.

        commands (without one: serve):

        """ + Command.table(commands.map { ($0.name, $0.summary) })
            + "\nEach command has --help.\n"
    }
}
