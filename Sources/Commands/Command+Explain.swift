import Configuration
import Gateway
import Wire

/// `explain`: asks a running gateway what became of a message.
extension Command {
    static let explain = Command(
        name: "explain", summary: "say what became of a message",
        details: """
            Asks the internal listener of the gateway that runs with this configuration, on this
            machine, and writes who sent the message and when, which event told it, and what each
            connection holds of it. Ask each gateway: one knows its own connections only. Exits
            with 1 if the gateway can't be asked.
            """,
        options: [
            Option(name: "conversation", value: "ID", help: "the conversation's id"),
            Option(name: "seq", value: "N", help: "the message's place"),
            Option(name: "id", value: "ID", help: "the message's id, in place of --seq"),
            Option(name: "user", value: "ID", help: "this user's connections alone"),
            Option(name: "json", value: nil, help: "write JSON"),
            Option(
                name: "url", value: "URL",
                help: "another gateway's internal listener (http://HOST:PORT)"),
        ] + configurationOptions
    ) { arguments, console throws(CommandError) in
        let conversation = try arguments.required("conversation")
        let isText = arguments["json"] == nil
        guard (arguments["seq"] == nil) != (arguments["id"] == nil) else {
            throw .usage("explain takes one of --seq and --id")
        }
        let overrides = try overrides(arguments, console.environment)
        let listen = try configuration(arguments, overrides).listen
        var path = "/explain?format=\(isText ? "text" : "json")"
        path += "&conversation=\(PercentEncoding.encode(conversation))"
        for name in ["seq", "id", "user"] {
            if let value = arguments[name] { path += "&\(name)=\(PercentEncoding.encode(value))" }
        }
        var basic: String?
        if let file = listen.internalPasswordFile {
            do throws(FileError) {
                let lines = try Files.read(file, limit: 1 << 20).split(separator: 0x0A)
                let line = String(decoding: lines.first ?? [], as: UTF8.self)
                basic = line.contains(":") ? line : "operator:\(line)"
            } catch {
                throw .failure(error.description)
            }
        }
        var base = arguments["url"] ?? "http://\(reachable(listen.internal))"
        while base.hasSuffix("/") { base.removeLast() }
        do throws(TransportError) {
            let reply = try HTTPClient(base: base, basic: basic).call("GET", path, body: nil)
            let text = String(decoding: reply.body, as: UTF8.self)
            guard reply.status == 200 else {
                throw TransportError(reason: text, isTransient: false)
            }
            console.write(isText ? text : text + "\n")
            return 0
        } catch {
            throw .failure("\(withoutPassword(base)): \(error.reason)")
        }
    }

    /// The URL as it may be shown: what stands before an `@` may be a password.
    private static func withoutPassword(_ url: String) -> String {
        guard let scheme = url.firstRange(of: "://") else { return url }
        let rest = url[scheme.upperBound...]
        let end = rest.firstIndex(of: "/") ?? rest.endIndex
        guard let at = rest[..<end].lastIndex(of: "@") else { return url }
        return String(url[..<scheme.upperBound] + url[url.index(after: at)...])
    }

    /// The address to connect to, from this machine, for a listener at `address`.
    fileprivate static func reachable(_ address: Address) -> Address {
        switch address.host {
        case "0.0.0.0": Address(host: "127.0.0.1", port: address.port)
        case "::": Address(host: "::1", port: address.port)
        default: address
        }
    }
}

/// `live`: whether the gateway of this configuration lives, for what supervises a container.
extension Command {
    static let live = Command(
        name: "live", summary: "say whether the gateway lives",
        details: """
            Asks the internal listener of the gateway that runs with this configuration, on this
            machine. Exits with 0 if its loop answers, and with 1 if not. A gateway lives also
            while its origin is away or its disk is full: for that ask /health.
            """,
        options: configurationOptions
    ) { arguments, console throws(CommandError) in
        let overrides = try overrides(arguments, console.environment)
        let address = reachable(try configuration(arguments, overrides).listen.internal)
        do throws(TransportError) {
            let reply = try HTTPClient(base: "http://\(address)").call("GET", "/livez", body: nil)
            guard reply.status == 200 else {
                throw TransportError(reason: "status \(reply.status)", isTransient: false)
            }
            console.write("the gateway at \(address) lives\n")
            return 0
        } catch {
            throw .failure("\(address): \(error.reason)")
        }
    }
}
