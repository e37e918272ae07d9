import JSON
import Wire

/// What becomes of a message by an edit.
extension MessageContent {
    /// What an edit makes of a message; nil where that says the same, whatever `ifRev` says: so
    /// that a repeated call is no conflict with itself.
    /// - Parameter stored: the message as it is.
    /// - Throws: `conflict`, if the edit is of another `rev`, or `too_large`, if the result would
    ///   pass a limit.
    package func edited(
        by edit: MessageEdit, of stored: @autoclosure () -> EncodedMessage, within limits: LogLimits
    ) throws(RequestError) -> MessageContent? {
        var after = self
        if let body = edit.body { after.body = body }
        if let metadata = edit.metadata { after.metadata = metadata }
        after.unknown = after.unknown.merged(with: edit.unknown)
        guard after.canonical() != canonical() else { return nil }
        try stored().check(ifRev: edit.ifRev)
        try limits.check(after, insteadOf: self)
        return after
    }

    /// The bytes of a stored message by which `limits.message` goes. A log does not tell metadata
    /// that were left out from empty ones.
    var stored: Int { size - (metadata?.bytes.count ?? 0) + (metadata?.stored ?? 0) }
}

extension RawJSON {
    /// The bytes that count as metadata: none for what is the same as no metadata.
    var stored: Int { self == .emptyObject ? 0 : bytes.count }
}
