import JSON

/// A frame of a client: its id, and the request, or the error that answers it.
///
/// Every byte of a frame is untrusted. Any fault becomes an error reply, under the frame's own id
/// if it is usable and otherwise under 0; no input makes decoding fail in another way. The size
/// limit of frames is enforced before.
///
/// `read` goes over the bytes once: it checks that they are JSON, and finds the id. What the frame
/// asks for stays text until it is decoded. So a frame that is refused whatever it asks for costs
/// no more than that.
package struct RequestFrame: Sendable {
    private enum Content: Sendable {
        case text(RequestText)
        case decoded(DecodedRequest)
    }

    /// 0 if the frame had no usable one.
    package let id: Int
    /// The size of the inflated frame in bytes.
    package let size: Int
    private let content: Content

    /// Reads a frame, and leaves what it asks for as text.
    package static func read(_ bytes: [UInt8], isBinary: Bool) -> RequestFrame {
        do throws(RequestError) {
            guard !isBinary else {
                throw RequestError(.malformed, "frame: binary (accepted: text)")
            }
            let text = try RequestText(bytes)
            return RequestFrame(id: try text.id(), size: bytes.count, content: .text(text))
        } catch {
            let refused = DecodedRequest(request: .failure(error))
            return RequestFrame(id: 0, size: bytes.count, content: .decoded(refused))
        }
    }

    /// Reads a frame and decodes it.
    package static func decode(_ bytes: [UInt8], isBinary: Bool) -> RequestFrame {
        read(bytes, isBinary: isBinary).decoded()
    }

    /// The same frame without its text.
    package func decoded() -> RequestFrame {
        RequestFrame(id: id, size: size, content: .decoded(decodedContent))
    }

    /// Whether its text was decoded, or is not worth it.
    package var isDecoded: Bool {
        if case .decoded = content { true } else { false }
    }

    private var decodedContent: DecodedRequest {
        switch content {
        case .text(let text): text.decoded()
        case .decoded(let decoded): decoded
        }
    }

    /// The request, or the error. As text it is decoded by each access: see `decoded`.
    package var request: Result<Request, RequestError> { decodedContent.request }

    /// Whether the client accepts an answer from the cache first, for a two-phase method.
    package var takesCached: Bool { decodedContent.takesCached }

    /// The change that the answer must not miss, for a method that reads a conversation.
    package var atLeast: Head? { decodedContent.atLeast }

    /// Nil if there is no such method; of a frame that was decoded, also if it is no request.
    package var method: Method? {
        switch content {
        case .text(let text): try? text.method.get()
        case .decoded(let decoded): try? decoded.request.get().row.method
        }
    }

    /// What it is about; nil if that can't be told. Nothing else of a text is decoded.
    package var outline: Request.Outline? {
        switch content {
        case .text(let text): text.outline
        case .decoded(let decoded): try? decoded.request.get().outline
        }
    }
}

/// What a frame asks for.
private struct DecodedRequest: Sendable {
    var takesCached = true
    var atLeast: Head?
    var request: Result<Request, RequestError>
}

/// A frame that is an object, with its members where they lie in the text.
private struct RequestText: Sendable {
    private let frame: Fields
    /// Nil if `params` is no object.
    private let object: JSONObject?
    let method: Result<Method, RequestError>

    init(_ bytes: [UInt8]) throws(RequestError) {
        do throws(JSONError) {
            let (whole, params) = try JSONObject.inPlace(bytes, opening: "params")
            frame = Fields(whole, prefix: "")
            object = params
        } catch {
            throw RequestError(
                .malformed,
                "frame: at byte \(error.offset) \(error.reason) (accepted: one JSON object)")
        }
        method = Self.method(frame)
    }

    func id() throws(RequestError) -> Int {
        try frame.requiredInteger("id", in: 1...Fields.largest)
    }

    func decoded() -> DecodedRequest {
        do throws(RequestError) {
            let params = try params()
            let inParams = try params.flag("cached")
            let beside = try frame.flag("cached")
            let request = try Request.decode(method.get(), params)
            return DecodedRequest(
                takesCached: inParams ?? beside ?? true,
                atLeast: request.row.readsLog ? try params.atLeast() : nil,
                request: .success(request))
        } catch {
            return DecodedRequest(request: .failure(error))
        }
    }

    private func params() throws(RequestError) -> Fields {
        let params = Fields(object ?? .empty, prefix: "params.")
        guard object == nil, let value = frame.value("params") else { return params }
        throw frame.refused("params", value, accepted: "an object")
    }

    private static func method(_ frame: Fields) -> Result<Method, RequestError> {
        do throws(RequestError) {
            let name = try frame.requiredString("method")
            guard let method = Method(rawValue: name) else {
                throw RequestError(
                    .methodUnknown, "method: no such method (accepted: \(Method.accepted))")
            }
            return .success(method)
        } catch {
            return .failure(error)
        }
    }

    var outline: Request.Outline? {
        guard let method = try? method.get(), let params = try? params() else { return nil }
        return Request.Outline(method, params)
    }
}

extension JSONObject {
    /// `{}`
    static let empty = JSONObject(members: [])
}
