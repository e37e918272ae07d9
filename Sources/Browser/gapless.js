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
export { Backoff } from './backoff.js';
export { CloseCode, closeReason, mayComeBack } from './closing.js';
export { Connection } from './connection.js';
export { Conversation } from './conversation.js';
export { ConversationList } from './conversations.js';
export { Coverage } from './coverage.js';
export { isFillable } from './gaps.js';
export { Holder } from './holder.js';
export { newIdentifier } from './identifier.js';
export { MessageStore } from './message-store.js';
export { RequestError } from './request-error.js';
export { ScrollView } from './scroll-view.js';
export { Signal } from './signal.js';
export { Timeline } from './timeline.js';
