import JSON

/// Decodes the bytes of a client's frame into a request.
///
/// Every byte of a frame is untrusted. Any fault becomes an error reply, under the frame's own id
/// if it is usable and otherwise under 0; no input makes decoding fail in another way. The size
/// limit of frames is enforced before.
extension RequestFrame {
    /// Reads one frame.
    package static func decode(_ bytes: [UInt8], isBinary: Bool) -> RequestFrame {
        var frame = read(bytes, isBinary: isBinary)
        frame.size = bytes.count
        return frame
    }

    private static func read(_ bytes: [UInt8], isBinary: Bool) -> RequestFrame {
        guard !isBinary else {
            return refused(.badRequest("frame: binary (accepted: text)"))
        }
        let frame: Fields
        let id: Int
        do throws(RequestError) {
            frame = Fields(try object(bytes), prefix: "")
            id = try frame.requiredInteger("id", in: 1...Fields.largest)
        } catch {
            return refused(error)
        }
        do throws(RequestError) {
            let params = try frame.fields("params") ?? Fields(.empty, prefix: "params.")
            let inParams = try params.flag("cached")
            let beside = try frame.flag("cached")
            let request = try Request.decode(method(frame), params)
            return RequestFrame(
                id: id, takesCached: inParams ?? beside ?? true, request: .success(request))
        } catch {
            return RequestFrame(id: id, request: .failure(error))
        }
    }

    private static func refused(_ error: RequestError) -> RequestFrame {
        RequestFrame(id: 0, request: .failure(error))
    }

    private static func object(_ bytes: [UInt8]) throws(RequestError) -> JSONObject {
        do throws(JSONError) {
            return try JSONObject(inPlace: bytes)
        } catch {
            throw .badRequest(
                "frame: at byte \(error.offset) \(error.reason) (accepted: one JSON object)")
        }
    }

    private static func method(_ frame: Fields) throws(RequestError) -> Method {
        let name = try frame.requiredString("method")
        guard let method = Method(rawValue: name) else {
            throw RequestError(
                .unknownMethod, "method: no such method (accepted: \(Method.accepted))")
        }
        return method
    }
}

extension JSONObject {
    /// `{}`
    static let empty = JSONObject(members: [])
}
