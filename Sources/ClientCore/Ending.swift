import Wire

/// Why a subscription has ended for good.
public enum Ending: Sendable, Hashable {
    /// The user takes part no more.
    case removed
    /// The conversation was deleted.
    case deleted
    /// The user may not read it.
    case forbidden
    /// The gateway refused it, and would again.
    case refused(RequestError)

    /// The same as a word: `removed`, `deleted`, `forbidden`, or the code of the error.
    public var reason: String {
        switch self {
        case .removed: "removed"
        case .deleted: "deleted"
        case .forbidden: "forbidden"
        case .refused(let error): error.code.rawValue
        }
    }

    package init(_ error: RequestError) {
        self = error.code == .forbidden ? .forbidden : .refused(error)
    }

    /// - Parameter error: What it counts as where the gateway gave no reason that is known here.
    init(_ reason: UnsubscribeReason?, _ error: RequestError) {
        switch reason {
        case .removed: self = .removed
        case .deleted: self = .deleted
        case .forbidden: self = .forbidden
        case nil: self = .refused(error)
        }
    }
}
