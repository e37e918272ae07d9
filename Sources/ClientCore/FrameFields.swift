import Chat
import JSON
import Wire

/// Why a frame can't be understood: a field that is not what the protocol says. The value itself is
/// never named.
package struct FrameError: Error, Sendable, Hashable {
    package var description: String

    init(_ field: String, accepted: String) {
        description = "\(field) is not \(accepted)"
    }

    init(_ error: RecordError) { description = error.description }
}

/// The fields of an object that a gateway wrote.
extension JSONObject {
    package func integer(_ name: String) throws(FrameError) -> Int {
        guard let value = self[name]?.int else { throw FrameError(name, accepted: "an integer") }
        return value
    }

    package func text(_ name: String) throws(FrameError) -> String {
        guard let value = self[name]?.string else { throw FrameError(name, accepted: "a string") }
        return value
    }

    package func object(_ name: String) throws(FrameError) -> JSONObject {
        guard let value = self[name]?.object else { throw FrameError(name, accepted: "an object") }
        return value
    }

    /// The elements of an array; none if the field is absent.
    package func elements(_ name: String) throws(FrameError) -> [RawJSON] {
        guard let value = self[name], !value.isNull else { return [] }
        guard let elements = value.array else { throw FrameError(name, accepted: "an array") }
        return elements
    }

    /// The elements of an array of objects, each read as a record.
    package func records<Value>(
        _ name: String, _ read: (JSONObject) throws(RecordError) -> Value
    ) throws(FrameError) -> [Value] {
        var values: [Value] = []
        for element in try elements(name) {
            guard let object = element.object else { throw FrameError(name, accepted: "objects") }
            values.append(try Self.record(object, read))
        }
        return values
    }

    /// An object read as a record; nil if the field is absent.
    package func record<Value>(
        _ name: String, _ read: (JSONObject) throws(RecordError) -> Value
    ) throws(FrameError) -> Value? {
        guard let value = self[name], !value.isNull else { return nil }
        return try Self.record(try object(name), read)
    }

    package static func record<Value>(
        _ object: JSONObject, _ read: (JSONObject) throws(RecordError) -> Value
    ) throws(FrameError) -> Value {
        do throws(RecordError) { return try read(object) } catch { throw FrameError(error) }
    }

    /// `[[low, high], …]`
    func coverage(_ name: String) throws(FrameError) -> Coverage {
        var runs: [Coverage.Run] = []
        for element in try elements(name) {
            guard let ends = element.array, ends.count == 2, let low = ends[0].int,
                let high = ends[1].int, let run = Coverage.Run(checking: low, high)
            else { throw FrameError(name, accepted: "pairs [low, high]") }
            runs.append(run)
        }
        return Coverage(runs)
    }

    package func head(_ name: String) throws(FrameError) -> Head {
        let head = try Self.record(try object(name), Conversation.Head.init)
        return Head(
            epoch: head.epoch, seq: head.seq, rev: head.rev, mark: head.mark, floor: head.floor)
    }

    package func gaps(_ name: String) throws(FrameError) -> [Gap] {
        var gaps: [Gap] = []
        for element in try elements(name) {
            guard let object = element.object,
                let cause = GapCause(rawValue: try object.text("cause"))
            else { throw FrameError(name, accepted: "gaps") }
            gaps.append(
                Gap(
                    after: try object.integer("after"), before: try object.integer("before"),
                    missing: object["missing"]?.int, cause: cause,
                    since: Timestamp(try object.text("since")) ?? Timestamp(milliseconds: 0)))
        }
        return gaps
    }

    /// The answer to a request that failed. A code or a way to retry that this client does not know
    /// counts as the gateway's own fault; a reason that it does not know is nil.
    func requestError() -> RequestError {
        RequestError(
            code: self["code"]?.string.flatMap(ErrorCode.init) ?? .internal,
            reason: self["reason"]?.string.flatMap(RequestError.Reason.init),
            message: self["message"]?.string ?? "",
            retry: self["retry"]?.string.flatMap(Retry.init) ?? .later,
            after: self["after"]?.int, current: self["current"])
    }
}
