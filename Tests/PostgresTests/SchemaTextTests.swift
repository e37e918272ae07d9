import Postgres
import Testing

/// The text of the schema, without a server.
@Suite struct SchemaTextTests {
    @Test("leaves no placeholder, and quotes the names that it is given")
    func names() {
        let text = Schema(
            name: "a \"b\"", gatewayRole: "it's", writerRole: "back\\slash"
        ).text
        #expect(text.contains("create schema if not exists \"a \"\"b\"\"\";"))
        #expect(text.contains("gateway name := 'it''s'"))
        #expect(text.contains(#"writer name :=  E'back\\slash'"#))
        for name in ["schema", "schema_text", "gateway", "writer", "version"] {
            #expect(!text.contains("{\(name)}"), "\(name)")
        }
    }

    @Test("is ASCII, so that a client of any encoding can read its errors")
    func ascii() {
        let others = Schema().text.split(separator: "\n").filter { !$0.allSatisfy(\.isASCII) }
        #expect(others == [])
    }
}
