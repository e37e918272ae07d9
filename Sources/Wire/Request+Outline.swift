/// What the journal and the log say of a request that was refused.
extension Request {
    /// What a request is about, without what it says.
    package struct Outline: Sendable, Hashable {
        package var method: Method
        /// As `Row` has it.
        package var conversation: String?
        /// The id of the message that it sends, edits, deletes or reacts to.
        package var message: String?

        fileprivate init(_ method: Method, in conversation: String?, message: String?) {
            self.method = method
            self.conversation = conversation
            self.message = message
        }

        /// That of params that are not decoded, and may be such that no request can be.
        init(_ method: Method, _ params: Fields) {
            let isOfMessage = [.sendMessage, .editMessage, .deleteMessage, .react].contains(method)
            let isOfNone = [
                .connect, .refresh, .subscribeConversations, .unsubscribeConversations,
                .fetchConversations, .createConversation, .setPresence, .watchPresence,
            ].contains(method)
            self.init(
                method, in: isOfNone ? nil : try? params.id("conversation"),
                message: isOfMessage ? try? params.id("id") : nil)
        }
    }

    package var outline: Outline {
        let row = row
        return Outline(row.method, in: row.conversation, message: row.message)
    }
}
