import Chat
import Foundation
import GaplessClient
import JSON

/// What apps that use Foundation want of the values of a chat: dates, and metadata as `Codable`.
/// The client itself does without it.

extension ClientError: LocalizedError {
    /// What went wrong, for a person; in English.
    public var errorDescription: String? { description }
}

extension ChatClient.SetupError: LocalizedError {
    /// What is wrong, for a person; in English.
    public var errorDescription: String? { description }
}

extension RequestError: LocalizedError {
    /// What the gateway said, for a person; in English.
    public var errorDescription: String? { "\(code.rawValue): \(message)" }
}

extension Date {
    /// The moment that a message or a conversation names.
    public init(_ timestamp: Timestamp) {
        self.init(timeIntervalSince1970: Double(timestamp.milliseconds) / 1000)
    }
}

extension Timestamp {
    /// A date, to the millisecond.
    public init(_ date: Date) {
        self.init(milliseconds: Int64((date.timeIntervalSince1970 * 1000).rounded()))
    }
}

extension Message {
    /// When it was written.
    public var creationDate: Date { Date(createdAt) }
    /// When it was edited last; nil if never.
    public var editDate: Date? { editedAt.map { Date($0) } }

    /// The metadata as a value of the app's.
    /// - Throws: `DecodingError`.
    public func metadata<Value: Decodable>(as type: Value.Type) throws -> Value {
        try metadata.decoded(as: type)
    }
}

extension Conversation {
    /// When it was made, where that is known.
    public var creationDate: Date? { createdAt.map { Date($0) } }

    /// The metadata as a value of the app's.
    /// - Throws: `DecodingError`.
    public func metadata<Value: Decodable>(as type: Value.Type) throws -> Value {
        try metadata.decoded(as: type)
    }
}

extension RawJSON {
    /// A value of the app's as JSON, to be sent as metadata or an attachment.
    /// - Throws: `EncodingError`.
    public init(_ value: some Encodable) throws {
        try self.init(Array(JSONEncoder().encode(value)))
    }

    /// The JSON as a value of the app's.
    /// - Throws: `DecodingError`.
    public func decoded<Value: Decodable>(as type: Value.Type) throws -> Value {
        try JSONDecoder().decode(type, from: Data(bytes))
    }
}
