import Postgres

/// `postgres`: the schema of an origin in Postgres.
extension Command {
    static let postgres = Command(
        name: "postgres", summary: "the schema of an origin in Postgres",
        operands: "schema",
        details: """
            schema   prints the SQL that the database needs, one file that may be applied again and
                     again: gapless postgres schema | psql --set ON_ERROR_STOP=1 DATABASE
            """
    ) { arguments, console throws(CommandError) in
        switch arguments.operands {
        case ["schema"]:
            console.write(Schema().text)
            return 0
        default:
            throw .usage("postgres takes one operand (accepted: schema)")
        }
    }
}
