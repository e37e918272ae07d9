import JSON
import Wire

/// The effect of an edit on a message.
extension MessageContent {
    /// The content after the edit. Nil if nothing changes, whatever `ifRev` says, so that a
    /// repeated call does not conflict with itself.
    /// - Parameter stored: the message as it is.
    /// - Throws: `conflict` if the edit is of another `rev`, `too_large` if the result would be
    ///   above a limit.
    package func edited(
        by edit: MessageEdit, of stored: @autoclosure () -> EncodedMessage, within limits: LogLimits
    ) throws(RequestError) -> MessageContent? {
        var after = self
        if let body = edit.body { after.body = body }
        if let metadata = edit.metadata { after.metadata = metadata }
        after.unknownFields = unknownFields.merged(with: edit.unknownFields)
        // Other numbers of fields are other contents, and need not be built to be compared.
        guard
            after.unknownFields.count != unknownFields.count || after.canonical() != canonical()
        else { return nil }
        try stored().check(ifRev: edit.ifRev)
        try limits.check(after, insteadOf: self)
        after.unknownFields = after.unknownFields.built
        return after
    }

    /// The bytes that `limits.message` bounds. Logs don't distinguish absent metadata from empty
    /// metadata.
    var stored: Int { size - (metadata?.bytes.count ?? 0) + (metadata?.stored ?? 0) }
}

extension RawJSON {
    /// The bytes that count as metadata: 0 for empty metadata.
    var stored: Int { self == .emptyObject ? 0 : bytes.count }
}
