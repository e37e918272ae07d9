import Chat
import JSON
import enum TestSupport.JSONValue
import struct TestSupport.Vector
import enum TestSupport.Vectors
import Testing
import Wire

@testable import ClientCore

/// The holder against the vectors that the JavaScript client passes too: a case is a list of
/// frames, and after each of them what is held.
@Suite struct HolderVectorTests {
    static let vectors = Vectors.cases(of: "holder").map { Vector(value: $0) }

    @Test func theVectorsAreThere() { #expect(Self.vectors.count >= 25) }

    @Test(arguments: vectors) func holdsWhatTheVectorSays(_ vector: Vector) throws {
        var holder = Holder()
        for (at, step) in (vector.value["steps"].array ?? []).enumerated() {
            try take(step, &holder)
            #expect(have(holder) == step["have"], "step \(at)")
            #expect(revs(holder.held) == step["held"], "step \(at)")
            #expect(revs(holder.shown) == step["shown"], "step \(at)")
            if step.object?["record"] != nil {
                #expect(holder.record?.rev == step["record"].int, "step \(at)")
            }
        }
    }

    private func take(_ step: JSONValue, _ holder: inout Holder) throws {
        if step["lost"] == true { return holder.unsubscribed() }
        let frame = step["frame"]
        let request = step["request"]
        // Whose holder a frame is for is decided by the session.
        let named = frame["conversation"].string ?? frame["conversation"]["id"].string
        if let named, named != "c1" { return }
        func read(_ value: JSONValue) throws -> MessagesFrame {
            try MessagesFrame(JSONObject(value.bytes))
        }
        switch frame["event"].string {
        case "messages", "gap", "conversation": holder.event(try read(frame))
        case "reset", "unsubscribed": holder.forget()
        case .some: break
        case nil:
            let result = frame["result"]
            guard result != .null else { return }
            switch request["method"].string {
            case "subscribeMessages":
                let resumed = request["params"]["have"] != .null
                holder.subscribed(try read(result), resumed: resumed)
            case "fetchMessages":
                let page = try read(result)
                if frame["cached"] == true {
                    holder.show(page.messages, head: page.head)
                } else {
                    holder.fetched(page)
                }
            case "unsubscribeMessages": holder.unsubscribed()
            case "sendMessage", "editMessage", "deleteMessage":
                let message = try Message(JSONObject(result["message"].bytes))
                holder.show([message])
            default: break
            }
        }
    }

    private func have(_ holder: Holder) -> JSONValue { holder.have?.json ?? .null }

    private func revs(_ values: [Int: Message]) -> JSONValue {
        .object(
            Dictionary(
                uniqueKeysWithValues: values.map { (String($0.key), .int($0.value.rev ?? 0)) }))
    }
}
