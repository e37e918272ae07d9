import Chat
import JSON
import Wire

/// The params of a request, as a client writes them.
package struct RequestParams: Sendable {
    private(set) var members: [JSONMember] = []

    package init() {}

    package init(conversation: String) { set("conversation", conversation) }

    /// The param of this name.
    subscript(_ name: String) -> RawJSON? { members.last { $0.key == name }?.value }

    /// The conversation that the request names.
    var conversation: ID? { self["conversation"]?.string?.id }

    package mutating func set(_ name: String, _ text: String?) {
        if let text { members.append(JSONMember(key: name, value: RawJSON(string: text))) }
    }

    package mutating func set(_ name: String, _ number: Int?) {
        if let number { members.append(JSONMember(key: name, value: RawJSON(int: number))) }
    }

    package mutating func set(_ name: String, _ flag: Bool?) {
        if let flag { members.append(JSONMember(key: name, value: flag ? .true : .false)) }
    }

    package mutating func set(_ name: String, _ value: RawJSON?) {
        if let value { members.append(JSONMember(key: name, value: value)) }
    }

    package mutating func set(_ name: String, _ texts: [String]?) {
        guard let texts else { return }
        set(name) { json in
            json.beginArray()
            for text in texts { json.string(text) }
            json.endArray()
        }
    }

    package mutating func set(_ name: String, _ anchor: Anchor?) {
        guard let anchor else { return }
        set(name) { json in
            switch anchor {
            case .seq(let seq): json.int(seq)
            case .id(let id): json.string(id)
            case .time(let moment):
                json.beginObject()
                json.member("time", moment: moment)
                json.endObject()
            }
        }
    }

    package mutating func set(_ name: String, _ have: Have?) {
        guard let have else { return }
        set(name) { json in
            json.beginObject()
            json.member("head", head: have.head)
            json.member("asOf", int: have.asOf)
            json.member("runs", coverage: have.runs)
            json.endObject()
        }
    }

    /// A change of a log, by what tells it from every other.
    mutating func set(_ name: String, change head: Head) {
        set(name) { json in
            json.beginObject()
            json.member("epoch", string: head.epoch)
            json.member("rev", int: head.rev)
            json.member("mark", string: head.mark)
            json.endObject()
        }
    }

    private mutating func set(_ name: String, _ write: (inout JSONWriter) -> Void) {
        var json = JSONWriter()
        write(&json)
        members.append(JSONMember(key: name, value: RawJSON(unchecked: json.bytes)))
    }

    /// The params as an object.
    package var json: [UInt8] { JSONObject(members: members).bytes }

    /// The frame of a request.
    func frame(id: Int, method: String) -> [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        json.member("id", int: id)
        json.member("method", string: method)
        json.member("params", raw: self.json)
        json.endObject()
        return json.bytes
    }
}
