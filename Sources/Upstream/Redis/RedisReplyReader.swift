import CHiredis

/// Parses replies from a server: bytes go in as they arrive, complete replies come out. hiredis
/// parses; it does not limit the length of an array, and would reserve 16 GiB for the dozen bytes
/// that announce one, so this reader does. Owned by one connection and used on its thread only; the
/// handle is freed with the object.
package final class RedisReplyReader {
    /// The most elements of an array that we ask for: a participant of a conversation takes two,
    /// and a call of the server API names at most a hundred thousand.
    package static let mostElements = 1 << 20

    private let reader: UnsafeMutablePointer<redisReader>
    /// hiredis's functions, with a limit on arrays. It outlives `reader`.
    private let functions: UnsafeMutablePointer<redisReplyObjectFunctions>

    /// An empty reader; nil if there is no memory.
    package init?() {
        guard let reader = redisReaderCreate(), let plain = reader.pointee.fn else { return nil }
        self.reader = reader
        functions = .allocate(capacity: 1)
        functions.initialize(to: plain.pointee)
        // `privdata`, set below, holds the functions without the limit.
        functions.pointee.createArray = { task, count in
            guard count <= RedisReplyReader.mostElements, let plain = task?.pointee.privdata else {
                return nil
            }
            let functions = plain.assumingMemoryBound(to: redisReplyObjectFunctions.self)
            return functions.pointee.createArray?(task, count)
        }
        reader.pointee.privdata = UnsafeMutableRawPointer(plain)
        reader.pointee.fn = functions
    }

    deinit {
        redisReaderFree(reader)
        functions.deallocate()
    }

    /// The replies that these bytes complete; nil if they are not Redis's protocol, after which
    /// nothing more may be read.
    package func replies(in bytes: ArraySlice<UInt8>) -> [RedisReply]? {
        let fed = bytes.withUnsafeBytes { bytes in
            redisReaderFeed(
                reader, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count)
        }
        guard fed == REDIS_OK else { return nil }
        var replies: [RedisReply] = []
        while true {
            var found: UnsafeMutableRawPointer?
            guard redisReaderGetReply(reader, &found) == REDIS_OK else { return nil }
            guard let found else { return replies }
            defer { freeReplyObject(found) }
            replies.append(Self.value(found.assumingMemoryBound(to: redisReply.self)))
        }
    }

    private static func value(_ reply: UnsafeMutablePointer<redisReply>) -> RedisReply {
        let reply = reply.pointee
        switch reply.type {
        case REDIS_REPLY_STRING, REDIS_REPLY_STATUS: return .text(bytes(reply))
        case REDIS_REPLY_ERROR: return .error(String(decoding: bytes(reply), as: UTF8.self))
        case REDIS_REPLY_INTEGER: return .integer(Int(reply.integer))
        case REDIS_REPLY_ARRAY:
            let elements = UnsafeBufferPointer(start: reply.element, count: Int(reply.elements))
            return .array(elements.map { $0.map(value) ?? .none })
        default: return .none
        }
    }

    private static func bytes(_ reply: redisReply) -> [UInt8] {
        guard let start = reply.str else { return [] }
        return [UInt8](UnsafeRawBufferPointer(start: start, count: Int(reply.len)))
    }
}
