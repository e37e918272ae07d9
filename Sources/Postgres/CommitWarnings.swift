import CPostgres

/// The warning with which the server answers a COMMIT that stopped waiting for its synchronous
/// standby: the transaction is committed here, and a failover may lose it. The server reports
/// success. All other notices are dropped; without a receiver libpq prints them.
final class CommitWarnings {
    private var warning: PostgresResult.Refusal?

    /// Hears what the server says beside its answers. The connection must end before this object.
    func hear(_ connection: OpaquePointer) {
        _ = PQsetNoticeReceiver(
            connection,
            { context, result in
                guard let context, let result else { return }
                Unmanaged<CommitWarnings>.fromOpaque(context).takeUnretainedValue().heard(result)
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    /// The warning that came since the last call.
    func take() -> PostgresResult.Refusal? {
        defer { warning = nil }
        return warning
    }

    private func heard(_ notice: OpaquePointer) {
        func field(_ letter: Unicode.Scalar) -> String? {
            PQresultErrorField(notice, Int32(letter.value)).map { String(cString: $0) }
        }
        // Its text depends on the server's language, and its SQLSTATE is that of all warnings. The
        // place in the server's source is neither.
        guard field("F")?.hasSuffix("syncrep.c") == true else { return }
        let texts = [field("M"), field("D")].compactMap(\.self)
        warning = PostgresResult.Refusal(
            state: field("C") ?? "01000", text: texts.joined(separator: "; "), isCommitted: true)
    }
}
