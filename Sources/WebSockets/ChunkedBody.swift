/// A strict decoder of a chunked body (RFC 9112 7.1): lines end in CR LF, sizes are plain
/// hexadecimal. Extensions and trailers are bounded and dropped. Pure.
package struct ChunkedBody {
    private enum Part {
        /// The line with a chunk's size.
        case size
        /// This many bytes of a chunk are still missing.
        case data(Int)
        /// The line end after a chunk.
        case end
        /// The lines after the last chunk, up to an empty one.
        case trailer
        case done
    }

    /// The most bytes of a line with a size and its extensions.
    private static let lineLimit = 256
    /// The most bytes that are not part of the body, apart from the sizes themselves.
    private static let overheadLimit = 16 * 1024

    private let limit: Int
    private var part = Part.size
    private var overhead = 0
    package private(set) var bytes: [UInt8] = []

    /// - Parameter limit: the most bytes of the body.
    package init(limit: Int) {
        self.limit = limit
    }

    /// Consumes the received part of the body from the front of `input`.
    /// - Returns: whether the body is complete.
    /// - Throws: `HTTPRequestHead.Refusal`; nothing after it may be read.
    package mutating func take(
        _ input: inout [UInt8]
    ) throws(HTTPRequestHead.Refusal) -> Bool {
        var at = 0
        defer { input.removeFirst(at) }
        while true {
            switch part {
            case .size:
                guard let line = try Self.line(input, &at) else { return false }
                try begin(Self.size(input[line]), overhead: line.count)
            case .data(let count):
                let here = min(count, input.count - at)
                bytes.append(contentsOf: input[at..<at + here])
                at += here
                part = here == count ? .end : .data(count - here)
                guard here == count else { return false }
            case .end:
                guard let line = try Self.line(input, &at) else { return false }
                guard line.isEmpty else { throw Self.broken }
                part = .size
            case .trailer:
                guard let line = try Self.line(input, &at) else { return false }
                try charge(line.count)
                if line.isEmpty { part = .done }
            case .done: return true
            }
        }
    }

    private mutating func begin(
        _ size: Int, overhead count: Int
    ) throws(HTTPRequestHead.Refusal) {
        guard size <= limit - bytes.count else {
            throw HTTPRequestHead.Refusal(413, "body: at most \(limit) bytes are accepted")
        }
        // A size has at most 8 digits; everything longer is overhead.
        try charge(max(0, count - 8))
        part = size == 0 ? .trailer : .data(size)
    }

    private mutating func charge(_ count: Int) throws(HTTPRequestHead.Refusal) {
        overhead += count
        guard overhead <= Self.overheadLimit else {
            throw HTTPRequestHead.Refusal(400, "a chunked body with too much around it")
        }
    }

    private static let broken = HTTPRequestHead.Refusal(400, "a chunked body that can't be read")

    /// The next line, without its CR LF; nil if it is incomplete.
    private static func line(
        _ input: [UInt8], _ at: inout Int
    ) throws(HTTPRequestHead.Refusal) -> Range<Int>? {
        let end = min(input.count, at + lineLimit)
        guard let feed = input[at..<end].firstIndex(of: 0x0A) else {
            guard input.count - at < lineLimit else { throw broken }
            return nil
        }
        guard feed > at, input[feed - 1] == 0x0D else { throw broken }
        let line = at..<feed - 1
        guard input[line].allSatisfy(HTTPRequestHead.isValueByte) else { throw broken }
        at = feed + 1
        return line
    }

    /// The number at the start of a line; extensions may follow.
    private static func size(_ line: ArraySlice<UInt8>) throws(HTTPRequestHead.Refusal) -> Int {
        let digits = line.prefix {
            switch $0 {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
                UInt8(ascii: "A")...UInt8(ascii: "F"):
                true
            default: false
            }
        }
        let rest = line.dropFirst(digits.count).drop { $0 == 0x20 || $0 == 0x09 }
        guard (1...8).contains(digits.count), rest.isEmpty || rest.first == UInt8(ascii: ";"),
            let size = Int(String(decoding: digits, as: UTF8.self), radix: 16)
        else { throw broken }
        return size
    }
}
