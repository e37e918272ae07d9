import Testing

import enum TestSupport.JSONValue
import enum TestSupport.Vectors
import struct TestSupport.Vector

@testable import GaplessClient

/// The faces against the vectors that the JavaScript client passes too.
@Suite struct FaceVectorTests {
    final class Item: ChatItemProtocol {
        let uid: String
        let type: ChatItemType

        init(_ value: JSONValue) {
            uid = value.string ?? value[0].string ?? ""
            type = value[1].string ?? "message"
        }
    }

    static let items = Vectors.cases(of: "items").map { Vector(value: $0) }
    static let history = Vectors.cases(of: "history").map { Vector(value: $0) }
    static let faces = Vectors.cases(of: "faces").map { Vector(value: $0) }

    @Test func theVectorsAreThere() {
        #expect(Self.items.count >= 11 && Self.history.count >= 8 && Self.faces.count >= 48)
    }

    @Test(arguments: items) func changesAreThoseOfTheVector(_ vector: Vector) {
        func items(_ name: String) -> [Item] { (vector.value[name].array ?? []).map(Item.init) }
        let changes = ChatItemChanges(from: items("old"), to: items("new"))
        let indices = { (name: String) in
            Set((vector.value[name].array ?? []).compactMap(\.int))
        }
        #expect(changes.insertions == indices("insertions"))
        #expect(changes.deletions == indices("deletions"))
        let moves = (vector.value["moves"].array ?? []).map {
            ChatItemChanges.Move(from: $0[0].int ?? -1, to: $0[1].int ?? -1)
        }
        #expect(changes.moves == moves)
    }

    @Test(arguments: history) func aHistoryIsOpenedAsTheVectorSays(_ vector: Vector) {
        let value = vector.value
        let scenario = HistoryScenario(
            lastSeen: value["lastSeen"].int, lastMessage: value["lastMessage"].int ?? -1,
            lastMessageTime: value["lastMessageTime"].string.flatMap { Timestamp($0) })
        switch scenario {
        case .unread(let seen):
            #expect(value["scenario"] == 1 && value["bannerAfter"].int == seen)
        case .seen: #expect(value["scenario"] == 2)
        case .lastMessageBeforeLastSeen(let moment):
            #expect(value["scenario"] == 7 && value["moveTo"].string == moment.description)
        case .neverOpened: #expect(value["scenario"] == "never opened")
        case .empty: #expect(value["scenario"] == "empty")
        }
    }

    @Test(arguments: faces) @MainActor func aFaceShowsWhatTheVectorSays(_ vector: Vector) throws {
        let player = try FaceVectorPlayer(vector.value)
        for (at, step) in (vector.value["steps"].array ?? []).enumerated() {
            try player.take(step)
            player.check(step, at)
        }
    }

    @Test func aDecoratorAddsRowsOfItsOwn() {
        func item(_ id: String, _ author: String, _ time: String) -> MessageItem {
            let message = Message(
                id: id, conversation: "c", author: author, createdAt: Timestamp(time) ?? .earliest)
            return MessageItem(message, isHeld: true)
        }
        let items = [
            item("1", "a", "2026-11-19T23:59:00.000Z"), item("2", "a", "2026-11-20T00:00:00.000Z"),
            item("3", "a", "2026-11-20T00:01:59.999Z"), item("4", "a", "2026-11-20T00:04:00.000Z"),
            item("5", "b", "2026-11-20T00:04:01.000Z"),
        ]
        let decorator = ChatItemsDecorator()
        let rows = decorator.decorate(items)
        #expect(
            rows.map(\.uid) == ["day 2026-11-19", "1", "day 2026-11-20", "2", "3", "4", "5"])
        #expect(rows.map(\.continuesAuthor) == [false, false, false, false, true, false, false])
        #expect(decorator.index(of: "3", in: rows) == 4)
        // The same rows, whatever came before them.
        let later = decorator.decorate(Array(items.dropFirst()))
        #expect(later.map(\.uid) == Array(rows.map(\.uid).dropFirst(2)))
    }
}
