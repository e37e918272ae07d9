import Commands
import Gateway
import JSON
import Rules

/// A file for `gapless replay`: an IRC log, or NDJSON. The first byte says the limit of a body.
enum LogInput {
    private static let name = "log"

    static func run(_ bytes: [UInt8]) {
        guard let first = bytes.first else { return }
        let limit = [8, 200, 32_768][Int(first) % 3]
        let file = Array(bytes[1...])
        let lines = file.split(separator: 0x0A, omittingEmptySubsequences: false)
        let transcript: Transcript
        do throws(Transcript.LineError) {
            transcript = try Transcript(file, name: name, bodyLimit: limit)
        } catch {
            require((1...lines.count).contains(error.line), "an error is in a line")
            require(!error.reason.isEmpty, "an error says why")
            return
        }
        let isObject = transcript.isNDJSON
        let blank = lines.count { $0.allSatisfy { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D } }
        let tally = transcript.tally
        let counted = transcript.entries.count + tally.system + tally.empty + tally.unknown
        require(counted + blank == lines.count, "nothing is left out silently")
        require(isObject || tally.cut <= transcript.entries.count, "a body is cut once")
        var last = 0
        for entry in transcript.entries {
            require(entry.line > last && entry.line <= lines.count, "entries in their order")
            last = entry.line
            check(entry, bodyLimit: limit, isObject: isObject)
        }
        let again = try? Transcript(file, name: name, bodyLimit: limit)
        require(again?.entries == transcript.entries, "a second replay posts the same messages")
        withOtherLineEnds(file, limit, transcript)
    }

    private static func check(_ entry: Transcript.Entry, bodyLimit: Int, isObject: Bool) {
        guard let object = try? JSONObject(entry.content) else {
            return require(false, "an entry is an object")
        }
        let author = object["author"]?.string ?? ""
        require(author.utf8.elementsEqual(entry.author.utf8), "the author of the entry")
        require(object["id"] != nil, "an entry has an id")
        require((object["body"]?.string?.utf8.count ?? 0) <= bodyLimit, "a body keeps the limit")
        // What an NDJSON file says beyond author and body is the server's to judge.
        guard !isObject else { return }
        do throws(ServerAPI.Failure) {
            _ = try ServerAPI(limits: limits).call(
                method: "POST", path: "/v1/conversations/c/messages", query: "",
                body: entry.content)
        } catch {
            require(false, "a line of a log is accepted by the server API: \(error)")
        }
    }

    /// As the server of the replay would be set up for its longest lines.
    private static let limits = {
        var limits = LogLimits()
        limits.message = 1 << 20
        return limits
    }()

    private static func withOtherLineEnds(
        _ file: [UInt8], _ limit: Int, _ transcript: Transcript
    ) {
        guard !file.contains(0x0D) else { return }
        var other: [UInt8] = []
        for byte in file {
            if byte == 0x0A { other.append(0x0D) }
            other.append(byte)
        }
        let read = try? Transcript(other, name: name, bodyLimit: limit)
        require(read?.entries == transcript.entries, "the ends of lines make no difference")
        require(read?.tally == transcript.tally, "the ends of lines are not counted")
    }
}
