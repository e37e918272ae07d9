import Configuration
import Engine
import Postgres
import Rules

/// `postgres`: installs, checks and upgrades the schema of an origin in Postgres.
extension Command {
    static let postgres = Command(
        name: "postgres", summary: "the schema of an origin in Postgres",
        operands: "schema | install | check | upgrade",
        details: """
            schema   prints the SQL that the database needs: one file that may be applied again
                     and again, by install or by
                     gapless postgres schema | psql --set ON_ERROR_STOP=1 DATABASE
            install  applies it. Who does owns everything in it, and needs no superuser. The two
                     roles are made only if that is allowed; otherwise it says what to type
            check    says what is missing, differs or is dangerous, a line each; exits with 1 if
                     anything is
            upgrade  goes up to this version, in one transaction. What has to be dropped for that,
                     and has something of yours depend on it, is named, and nothing is done

            The names of the schema and of the roles are upstream.postgres.schema and .roles of the
            configuration. With --config, install also writes its limits for those who write in
            SQL.
            """,
        options: [
            Option(
                name: "url", value: "URL",
                help: "the database as its owner, as libpq takes it (install, check, upgrade)")
        ] + configurationOptions
    ) { arguments, console throws(CommandError) in
        let verbs = ["schema", "install", "check", "upgrade"]
        guard arguments.operands.count == 1, let verb = arguments.operands.first,
            verbs.contains(verb)
        else { throw .usage("postgres takes one of: \(verbs.joined(separator: ", "))") }
        // Whatever gateways use: this one is about the database.
        let configuration = try configuration(
            arguments, try overrides(arguments, console.environment), isServed: false)
        let postgres = configuration.upstream.postgres
        let schema = Schema(
            name: postgres.schema, gatewayRole: postgres.roles.gateway,
            writerRole: postgres.roles.writer)
        guard verb != "schema" else {
            guard arguments["url"] == nil else { throw .usage("postgres schema takes no --url") }
            console.write(schema.text)
            return 0
        }
        let url = try arguments.required("url")
        do {
            let installation = Installation(schema, try SchemaSession(url))
            switch verb {
            case "install":
                for warning in try installation.install() { console.complain("\(warning)\n") }
                if arguments["config"] != nil {
                    try installation.hold(limits(configuration))
                }
                console.write("schema \(schema.name) is at version \(Schema.version)\n")
            case "upgrade":
                for line in try installation.upgrade() { console.write("\(line)\n") }
            default:
                let faults = try installation.faults()
                for fault in faults { console.write("\(fault)\n") }
                if !faults.isEmpty { return 1 }
                console.write(
                    "schema \(schema.name): nothing is missing, differs or is dangerous\n")
            }
            return 0
        } catch let refused as Installation.Refused {
            throw .failure(refused.text)
        } catch {
            throw .failure("\(error)")
        }
    }

    /// The limits of the log's values, by the names that the schema uses.
    private static func limits(_ configuration: Configuration) -> [String: Int] {
        [
            "limits.message": configuration.limits.log.message,
            "limits.record": configuration.limits.log.record,
            "limits.unknown_fields": configuration.limits.log.unknownFields,
            "limits.participants": configuration.limits.log.participants,
            "limits.admins": configuration.limits.log.admins,
            "limits.reaction_keys": configuration.limits.log.reactionKeys,
            "limits.reactions": configuration.limits.log.reactions,
            "limits.mentions": configuration.limits.log.mentions,
            "retain_ids": Int(configuration.upstream.postgres.retainIds),
        ]
    }
}
