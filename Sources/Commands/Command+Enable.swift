import Configuration
import Gateway
import Upstream

/// `enable`: says that no earlier gateway shares the origin.
extension Command {
    static let enable = Command(
        name: "enable", summary: "allow what gateways of earlier versions would lose",
        operands: EnabledVersion.present,
        details: """
            Gateways of several versions may share Redis or Postgres during an update. Reactions,
            replies and mentions are refused with forbidden until then: a gateway of an earlier
            version would lose them when it edits a message. Run this once, when each gateway is of
            this version. It can't be taken back. The embedded log needs it not.
            """,
        options: configurationOptions
    ) { arguments, console throws(CommandError) in
        guard arguments.operands == [EnabledVersion.present] else {
            throw .usage("enable takes one of: \(EnabledVersion.present)")
        }
        let configuration = try configuration(
            arguments, try overrides(arguments, console.environment))
        do throws(OriginFailure) {
            console.write(try OriginEnabling.run(configuration) + "\n")
            return 0
        } catch {
            throw .failure(error.text)
        }
    }
}
