import Configuration
import Gateway

/// `repair`: makes a damaged log in Redis whole again, from what is left of it, or a user's list.
extension Command {
    static let repair = Command(
        name: "repair", summary: "make what is left of a damaged log in Redis a whole one",
        details: """
            A log of which a key was evicted, deleted or overwritten is neither served nor written
            to; health and the log of the gateways name it. This gives what is left of it a new
            epoch: messages that are gone become tombstones, or raise the floor where nothing older
            is left; what lay in lost keys (participants, read markers, title) is empty. Clients
            that hold the conversation are told to load it again. Gateways may go on meanwhile.

            Lost participants alone are better mended by a PUT that names them all. A log without
            its head is gone: the next PUT begins another.

            With --user a list is put together again from the conversations in which the user takes
            part. Gateways do so by themselves with one of which a part is gone; this is for what
            stands in its place and is none (another type), which is removed.
            """,
        options: [
            Option(
                name: "conversation", value: "ID", help: "the conversation whose log is damaged"),
            Option(name: "user", value: "ID", help: "the user whose list is damaged"),
        ] + configurationOptions
    ) { arguments, console throws(CommandError) in
        let subject: LogRepair.Subject
        switch (arguments["conversation"], arguments["user"]) {
        case (let id?, nil) where !id.isEmpty: subject = .conversation(id)
        case (nil, let id?) where !id.isEmpty: subject = .list(user: id)
        case (.some, _), (nil, _): throw .usage("repair takes --conversation ID or --user ID")
        }
        let overrides = try overrides(arguments, console.environment)
        let configuration = try configuration(arguments, overrides)
        guard configuration.upstream.kind == .redis else {
            throw .failure(
                "upstream.kind is \(configuration.upstream.kind.rawValue) (accepted: redis)")
        }
        do throws(OriginFailure) {
            console.write(try LogRepair.run(configuration, subject) + "\n")
            return 0
        } catch {
            throw .failure(error.text)
        }
    }
}
