/// Why requests are refused: each refusal's name for programs, with its code and its way to retry.
extension RequestError {
    /// The reasons of `protocol.md` 2: which rule or state refused a request. A program compares
    /// these, and never the message, whose words may change. A later version may add some, so a
    /// `switch` over them needs a `default`. Each has one code.
    public enum Reason: String, Sendable, Hashable, CaseIterable {
        // bad_request
        case malformed
        case fieldMissing = "field_missing"
        case fieldInvalid = "field_invalid"
        case fieldsExclusive = "fields_exclusive"
        case cursorInvalid = "cursor_invalid"
        case valueUnstorable = "value_unstorable"
        case requestIDInUse = "request_id_in_use"
        case alreadyConnected = "already_connected"
        case notParticipant = "not_participant"
        case userNeeded = "user_needed"
        case httpMethodNotAllowed = "http_method_not_allowed"
        case upgradeNeeded = "upgrade_needed"
        case headTooLong = "head_too_long"
        // unknown_method
        case methodUnknown = "method_unknown"
        // unauthorized
        case tokenExpired = "token_expired"
        case tokenRefused = "token_refused"
        case keyNeeded = "key_needed"
        case passwordNeeded = "password_needed"
        // forbidden
        case clientsCreateOff = "clients_create_off"
        case clientsSendOff = "clients_send_off"
        case clientsEditOff = "clients_edit_off"
        case clientsReactOff = "clients_react_off"
        case clientsMentionAllOff = "clients_mention_all_off"
        case clientsPresenceOff = "clients_presence_off"
        case notEnabled = "not_enabled"
        case idNotOwn = "id_not_own"
        case notAuthor = "not_author"
        case authorNotSelf = "author_not_self"
        case notAdmin = "not_admin"
        case serverOnly = "server_only"
        case tokenOfAnother = "token_of_another"
        case webOriginRefused = "web_origin_refused"
        case hostRefused = "host_refused"
        case conversationIDOfOthers = "conversation_id_of_others"
        // not_found
        case conversationNotFound = "conversation_not_found"
        case messageNotFound = "message_not_found"
        case pathNotFound = "path_not_found"
        case draftUnknown = "draft_unknown"
        // conflict
        case revChanged = "rev_changed"
        case messageDeleted = "message_deleted"
        case messageIDTaken = "message_id_taken"
        case conversationIDTaken = "conversation_id_taken"
        case changeUnknown = "change_unknown"
        case underRepair = "under_repair"
        // too_large
        case limitMessage = "limit_message"
        case limitRecord = "limit_record"
        case limitUnknownFields = "limit_unknown_fields"
        case limitParticipants = "limit_participants"
        case limitAdmins = "limit_admins"
        case limitConversationsPerUser = "limit_conversations_per_user"
        case limitReactionKeys = "limit_reaction_keys"
        case limitReactions = "limit_reactions"
        case limitReactionsOfUser = "limit_reactions_of_user"
        case limitMentions = "limit_mentions"
        case limitSubscriptions = "limit_subscriptions"
        case limitPresence = "limit_presence"
        case limitInboundFrame = "limit_inbound_frame"
        case limitArray = "limit_array"
        case limitRuns = "limit_runs"
        case limitBody = "limit_body"
        // rate_limited
        case limitRequestsPerSecond = "limit_requests_per_second"
        case limitHTTPConnections = "limit_http_connections"
        case limitEventStreams = "limit_event_streams"
        // origin_unavailable
        case originUnreachable = "origin_unreachable"
        case originOverloaded = "origin_overloaded"
        case originRefusesWrites = "origin_refuses_writes"
        case originRefusesGateway = "origin_refuses_gateway"
        case originRefuses = "origin_refuses"
        case originAnswerLost = "origin_answer_lost"
        case originNotReplicated = "origin_not_replicated"
        case originFileChanged = "origin_file_changed"
        case originMisanswered = "origin_misanswered"
        case othersNotTold = "others_not_told"
        case logDamaged = "log_damaged"
        case listDamaged = "list_damaged"
        case conversationLocked = "conversation_locked"
        case conversationContended = "conversation_contended"
        case draining
        // internal
        case storedUnreadable = "stored_unreadable"
        case cacheUnreadable = "cache_unreadable"
        case cacheUnwritable = "cache_unwritable"
        case internalFault = "internal_fault"
    }
}

extension RequestError.Reason {
    /// The kind of error that it is.
    public var code: ErrorCode {
        switch self {
        case .malformed, .fieldMissing, .fieldInvalid, .fieldsExclusive, .cursorInvalid,
            .valueUnstorable, .requestIDInUse, .alreadyConnected, .notParticipant, .userNeeded,
            .httpMethodNotAllowed, .upgradeNeeded, .headTooLong:
            .badRequest
        case .methodUnknown: .unknownMethod
        case .tokenExpired, .tokenRefused, .keyNeeded, .passwordNeeded: .unauthorized
        case .clientsCreateOff, .clientsSendOff, .clientsEditOff, .clientsReactOff,
            .clientsMentionAllOff, .clientsPresenceOff, .notEnabled, .idNotOwn, .notAuthor,
            .authorNotSelf, .notAdmin, .serverOnly, .tokenOfAnother, .webOriginRefused,
            .hostRefused, .conversationIDOfOthers:
            .forbidden
        case .conversationNotFound, .messageNotFound, .pathNotFound, .draftUnknown: .notFound
        case .revChanged, .messageDeleted, .messageIDTaken, .conversationIDTaken, .changeUnknown,
            .underRepair:
            .conflict
        case .limitMessage, .limitRecord, .limitUnknownFields, .limitParticipants, .limitAdmins,
            .limitConversationsPerUser, .limitReactionKeys, .limitReactions,
            .limitReactionsOfUser, .limitMentions, .limitSubscriptions, .limitPresence,
            .limitInboundFrame, .limitArray, .limitRuns, .limitBody:
            .tooLarge
        case .limitRequestsPerSecond, .limitHTTPConnections, .limitEventStreams: .rateLimited
        case .originUnreachable, .originOverloaded, .originRefusesWrites, .originRefusesGateway,
            .originRefuses, .originAnswerLost, .originNotReplicated, .originFileChanged,
            .originMisanswered, .othersNotTold, .logDamaged, .listDamaged, .conversationLocked,
            .conversationContended, .draining:
            .originUnavailable
        case .storedUnreadable, .cacheUnreadable, .cacheUnwritable, .internalFault: .internal
        }
    }

    /// Whether the same request may succeed when it is made again.
    package var retry: Retry {
        switch self {
        case .originAnswerLost, .originNotReplicated, .conversationContended: .now
        case .tokenExpired, .underRepair, .limitRequestsPerSecond, .limitHTTPConnections,
            .limitEventStreams, .originUnreachable, .originOverloaded, .originRefusesWrites,
            .originRefusesGateway, .originRefuses, .originFileChanged, .originMisanswered,
            .othersNotTold, .logDamaged, .listDamaged, .conversationLocked, .draining,
            .cacheUnreadable, .cacheUnwritable:
            .later
        case .malformed, .fieldMissing, .fieldInvalid, .fieldsExclusive, .cursorInvalid,
            .valueUnstorable, .requestIDInUse, .alreadyConnected, .notParticipant, .userNeeded,
            .httpMethodNotAllowed, .upgradeNeeded, .headTooLong, .methodUnknown, .tokenRefused,
            .keyNeeded, .passwordNeeded, .clientsCreateOff, .clientsSendOff, .clientsEditOff,
            .clientsReactOff, .clientsMentionAllOff, .clientsPresenceOff, .notEnabled, .idNotOwn,
            .notAuthor, .authorNotSelf, .notAdmin, .serverOnly, .tokenOfAnother,
            .webOriginRefused, .hostRefused, .conversationIDOfOthers, .conversationNotFound,
            .messageNotFound, .pathNotFound, .draftUnknown, .revChanged, .messageDeleted,
            .messageIDTaken, .conversationIDTaken, .changeUnknown, .limitMessage, .limitRecord,
            .limitUnknownFields, .limitParticipants, .limitAdmins, .limitConversationsPerUser,
            .limitReactionKeys, .limitReactions, .limitReactionsOfUser, .limitMentions,
            .limitSubscriptions, .limitPresence, .limitInboundFrame, .limitArray, .limitRuns,
            .limitBody,
            .storedUnreadable, .internalFault:
            .never
        }
    }
}
