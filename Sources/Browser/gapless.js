/**
 * The Gapless client for browsers: a connection that comes back, message lists and a conversation
 * list that resume where they were, and the parts that they are built from.
 *
 *     const connection = new Connection({
 *       url: 'wss://chat.example.org/v1/ws', credentials: async () => ({ token: await token() }),
 *     });
 *     const conversation = new Conversation(connection, 'ops');
 *     conversation.changed.listen(() => show(conversation.items));
 *     conversation.open();
 *     connection.open();
 */

/**
 * @typedef {import('./chat-client.js').MessagesNews} MessagesNews
 * @typedef {import('./connection.js').Ask} Ask
 * @typedef {import('./connection.js').ConnectionState} ConnectionState
 * @typedef {import('./connection.js').Credentials} Credentials
 * @typedef {import('./conversation-id.js').ConversationName} ConversationName
 * @typedef {import('./chat-data-source.js').ChatDataSourceDelegate} ChatDataSourceDelegate
 * @typedef {import('./chat-data-source.js').ChatMessageItem} ChatMessageItem
 * @typedef {import('./drafts.js').Draft} Draft
 * @typedef {import('./find-boundaries.js').Boundary} Boundary
 * @typedef {import('./history.js').HistoryDelegate} HistoryDelegate
 * @typedef {import('./items.js').Item} Item
 * @typedef {import('./managed-message-list.js').ListNews} ListNews
 * @typedef {import('./managed-message-list.js').ManagedMessageListDelegate}
 *   ManagedMessageListDelegate
 * @typedef {import('./merge.js').ConversationDelta} ConversationDelta
 * @typedef {import('./merge.js').MessageDelta} MessageDelta
 * @typedef {import('./timeline.js').ListMessage} ListMessage
 * @typedef {import('./types.js').ConversationRecord} ConversationRecord
 * @typedef {import('./outbox.js').Seen} Seen
 * @typedef {import('./own-presence.js').PresenceState} PresenceState
 * @typedef {import('./presence.js').PresenceWatch} PresenceWatch
 * @typedef {import('./presence.js').UserPresence} UserPresence
 * @typedef {import('./types.js').Gap} Gap
 * @typedef {import('./types.js').Have} Have
 * @typedef {import('./types.js').Mentions} Mentions
 * @typedef {import('./types.js').MentionsPlace} MentionsPlace
 * @typedef {import('./types.js').MentionsResult} MentionsResult
 * @typedef {import('./types.js').Message} Message
 * @typedef {import('./types.js').Participant} Participant
 * @typedef {import('./types.js').Reaction} Reaction
 * @typedef {import('./types.js').ReactionsPlace} ReactionsPlace
 * @typedef {import('./types.js').ReactionsResult} ReactionsResult
 * @typedef {import('./types.js').Reason} Reason
 * @typedef {import('./types.js').ReplyTo} ReplyTo
 * @typedef {import('./types.js').SendFields} SendFields
 * @typedef {import('./types.js').Unread} Unread
 * @typedef {import('./types.js').UpstreamState} UpstreamState
 */

export { Administration } from './administration.js';
export { Backoff } from './backoff.js';
export { ChatClient } from './chat-client.js';
export { ChatDataSource } from './chat-data-source.js';
export { chatItemChanges } from './chat-item-changes.js';
export { decorateChatItems, indexOfChatItem } from './chat-items-decorator.js';
export { CloseCode, closeReason, mayComeBack } from './closing.js';
export { Connection } from './connection.js';
export { connectionOf } from './connections.js';
export { Conversation } from './conversation.js';
export { ConversationList } from './conversations.js';
export { Coverage } from './coverage.js';
export {
  distance, findBoundaries, findBoundariesOf, findBoundaryIndices,
} from './find-boundaries.js';
export { isFillable } from './gaps.js';
export { Grouping, tombstones } from './grouping.js';
export { History } from './history.js';
export { historyScenario, scenarioOf } from './history-scenario.js';
export { Holder } from './holder.js';
export { newIdentifier } from './identifier.js';
export { loadFor, loadForGap } from './loading.js';
export { ManagedMessageList } from './managed-message-list.js';
export { mentionsUser } from './mentions.js';
export { applyDelta, merge } from './merge.js';
export { MessageStore } from './message-store.js';
export { Outbox } from './outbox.js';
export { nextLoad } from './preload.js';
export { Presence } from './presence.js';
export { Pubsub } from './pubsub.js';
export { onError } from './report.js';
export { RequestError } from './request-error.js';
export { ScrollView } from './scroll-view.js';
export { Signal } from './signal.js';
export { Timeline } from './timeline.js';
export { pageByLimit } from './timeline-page.js';
