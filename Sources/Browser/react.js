/**
 * The client for React 18 and later: `import { ChatProvider, useConversation } from
 * '@gapless/client/react'`. What a hook gives is the same object for as long as nothing of it
 * changed.
 *
 *     function Room({ id }) {
 *       const { items, send, loadOlder } = useConversation(id);
 *       …
 *     }
 *     root.render(createElement(ChatProvider, { client }, createElement(Room, { id: 'ops' })));
 */

import {
  createContext, createElement, useContext, useEffect, useMemo, useSyncExternalStore,
} from 'react';
import { Conversation } from './conversation.js';
import { idOf } from './conversation-id.js';
import { ConversationList } from './conversations.js';
import { Followed } from './followed.js';
import { Presence } from './presence.js';

/** @import { ChatClient } from './chat-client.js' */
/** @import { Connection } from './connection.js' */
/** @import { ConversationName } from './conversation-id.js' */
/** @import { Draft } from './drafts.js' */
/** @import { Item } from './items.js' */
/** @import { Seen } from './outbox.js' */
/** @import { UserPresence } from './presence.js' */
/** @import { SubscriptionPhase } from './subscription.js' */
/** @import { RequestError } from './request-error.js' */
/** @import { ConversationRecord, Gap, Mentions, MentionsPlace } from './types.js' */
/** @import { MentionsResult, Participant, ReactionsPlace, ReactionsResult } from './types.js' */
/** @import { SendFields, Unread, UpstreamState } from './types.js' */

/**
 * @typedef {object} ConversationSnapshot  what a view shows of a conversation
 * @property {string} id
 * @property {readonly Item[]} items  messages, gaps and what is being sent, oldest first; `key` of
 *   each is a key for React
 * @property {readonly Gap[]} gaps
 * @property {readonly string[]} typists  who else is typing
 * @property {readonly Draft[]} drafts  the messages that are not confirmed
 * @property {readonly Draft[]} edits  the edits and deletions that are not confirmed
 * @property {ReadonlyMap<string, Participant>} people
 * @property {ConversationRecord | null} record
 * @property {number | null} lastReadSeq
 * @property {SubscriptionPhase} phase  `live`: what is shown is the present
 * @property {boolean} isOpen  there may be changes that nobody here knows yet
 * @property {boolean} hasOlder
 * @property {boolean} hasNewer  whether there are newer messages that are not here, or holes
 * @property {string} older  how `loadOlder` stands: `idle`, `busy`, or why it failed
 * @property {RequestError | null} olderError  with which it failed, and its code
 * @property {string | null} firstUnread  the first message that is not read, if it is here, by id
 * @property {string | null} ending  why the conversation is no longer followed, for a person to
 *   read
 * @property {string | null} endingReason  in a word: `not_found`, `removed`, `deleted`, `forbidden`
 *
 * @typedef {object} ConversationActions
 * @property {(body: string, metadata?: Record<string, *>, attachment?: *, fields?: SendFields)
 *   => string} send  `fields`: the message to which it replies, and whom it mentions
 * @property {(id: string) => void} resend  what failed, or is in conflict
 * @property {(id: string) => void} discard  what failed, or is in conflict
 * @property {(id: string, body: string, fields?: SendFields) => string} rewrite  gives what failed
 *   another text
 * @property {(id: string) => Seen} see  notes which value its author sees as an edit begins
 * @property {(of: string | Seen, body: string, mentions?: Mentions) => Promise<void>} edit  an id,
 *   or what `see` gave
 * @property {(of: string | Seen) => Promise<void>} remove  deletes a message
 * @property {(message: string, key: string, on?: boolean, options?: {user?: string})
 *   => Promise<void>} react  has the user react to a message; `on` false takes that back
 * @property {(message: string, place?: ReactionsPlace) => Promise<ReactionsResult>} fetchReactions
 *   who reacted to a message
 * @property {(place?: MentionsPlace) => Promise<MentionsResult>} fetchMentions  where others
 *   mention the user
 * @property {(seq: number) => void} markRead
 * @property {(hasText?: boolean) => void} typed
 * @property {(limit?: number) => Promise<void>} loadOlder
 * @property {(limit?: number) => Promise<void>} loadNewer
 * @property {() => Promise<string | null>} loadUnread  fetches the first message that is not read
 * @property {(after?: number) => Promise<string | null>} loadMention  fetches the next message that
 *   mentions the user
 * @property {(gap: Gap) => Promise<void>} fill
 * @property {(message: string) => Promise<boolean>} moveTo  loads what is around a message
 * @property {(first: string, last: string) => void} noteVisible  which messages are in view
 * @property {Conversation} conversation  all else
 *
 * @typedef {object} ConversationsSnapshot
 * @property {readonly ConversationRecord[]} records  latest activity first
 * @property {number} unreadCount  of all of them
 * @property {number} unreadMentions  how many of them mention the user
 * @property {boolean} isLoaded
 * @property {boolean} isOpen
 * @property {boolean} hasMore
 * @property {string | null} endingReason  the code with which the subscription was refused
 *
 * @typedef {object} ConversationsActions
 * @property {() => Promise<void>} loadMore
 * @property {(fields: {title?: string, participants: string[]}) => Promise<ConversationRecord>}
 *   create
 * @property {ConversationList} list  all else
 *
 * @typedef {object} ConnectionSnapshot
 * @property {'idle' | 'connecting' | 'live' | 'waiting' | 'closed'} phase
 * @property {boolean} isLive  whether requests can be made
 * @property {string | undefined} reason  why it is not live, for people
 * @property {number | undefined} code  the close code
 * @property {number | undefined} retryAt  when it tries again, in milliseconds since 1970
 * @property {string | null} user
 * @property {UpstreamState | null} upstream
 *
 * @typedef {object} PresenceSnapshot
 * @property {ReadonlyMap<string, UserPresence>} states  by user, of all whom this client watches
 * @property {RequestError | null} error  why some are not there, see `Presence`
 */

const Context = createContext(/** @type {ChatClient | null} */ (null));

/** @type {WeakMap<ChatClient, Followed<ConversationList, ConversationsSnapshot>>} */
const lists = new WeakMap();

/**
 * Gives a client to all components below, and connects it until its owner closes it.
 *
 * @param {{client: ChatClient, children?: import('react').ReactNode}} props
 * @returns {import('react').ReactElement}
 */
export function ChatProvider({ client, children }) {
  useEffect(() => { client.open(); }, [client]);
  return createElement(Context.Provider, { value: client }, children);
}

/**
 * The client of the nearest `ChatProvider`.
 *
 * @returns {ChatClient}
 */
export function useChatClient() {
  const client = useContext(Context);
  if (client === null) throw new Error('This component needs a ChatProvider above it.');
  return client;
}

/**
 * How the connection stands.
 *
 * @returns {ConnectionSnapshot}
 */
export function useConnection() {
  const { connection } = useChatClient();
  const followed = useMemo(() => (
    new Followed(connection, readConnection, { opens: false })), [connection]);
  return useSyncExternalStore(followed.subscribe, followed.snapshot, followed.snapshot);
}

/**
 * Follows a conversation while the component is there.
 *
 * @param {ConversationName} name
 * @param {object} [options]
 * @param {number} [options.limit]  messages at the beginning, and in a page
 * @param {'end' | 'unread'} [options.opensAt]  `unread`: also fetches around the first unread
 *   message
 * @returns {ConversationSnapshot & ConversationActions}
 */
export function useConversation(name, { limit, opensAt = 'end' } = {}) {
  const { connection, store } = useChatClient();
  const id = idOf(name);
  const [followed, actions] = useMemo(() => {
    const conversation = new Conversation(connection, id, { store, limit });
    if (opensAt === 'unread') loadUnreadOnce(conversation);
    return /** @type {const} */ ([
      new Followed(conversation, readConversation), actionsOf(conversation),
    ]);
  }, [connection, store, id, limit, opensAt]);
  const now = useSyncExternalStore(followed.subscribe, followed.snapshot, followed.snapshot);
  return useMemo(() => ({ ...now, ...actions }), [now, actions]);
}

/** @param {Conversation} conversation */
function loadUnreadOnce(conversation) {
  const stop = conversation.changed.listen(() => {
    if (conversation.phase !== 'live' || conversation.lastReadSeq === null) return;
    stop();
    conversation.loadUnread();
  });
}

/**
 * What the user has not read, of a client with `unread`; null until it is known.
 *
 * @returns {Unread | null}
 */
export function useUnread() {
  const { connection } = useChatClient();
  const followed = useMemo(() => new Followed(connection, ({ unread }) => ({
    messages: unread?.messages, conversations: unread?.conversations, mentions: unread?.mentions,
    open: unread?.open,
  }), { opens: false }), [connection]);
  const now = useSyncExternalStore(followed.subscribe, followed.snapshot, followed.snapshot);
  return now.messages === undefined ? null : /** @type {Unread} */ (now);
}

/**
 * Watches whether users are there while the component is: those of a conversation whom `users`
 * names, or all who take part. `useChatClient().setPresence` says how the user is there.
 *
 * @param {ConversationName} name
 * @param {readonly string[]} [users]
 * @returns {PresenceSnapshot}
 */
export function usePresence(name, users) {
  const { connection } = useChatClient();
  const presence = Presence.of(connection);
  const watched = JSON.stringify({ conversation: idOf(name), users });
  useEffect(() => presence.watch([JSON.parse(watched)]), [presence, watched]);
  const followed = useMemo(() => new Followed(
    presence, ({ states, error }) => ({ states, error }), { opens: false }), [presence]);
  return useSyncExternalStore(followed.subscribe, followed.snapshot, followed.snapshot);
}

/**
 * Follows the user's conversations: one list for all components of a client.
 *
 * @returns {ConversationsSnapshot & ConversationsActions}
 */
export function useConversations() {
  const client = useChatClient();
  const followed = listOf(client);
  const now = useSyncExternalStore(followed.subscribe, followed.snapshot, followed.snapshot);
  const { target: list } = followed;
  return useMemo(() => ({
    ...now, list, loadMore: () => list.loadMore(), create: (fields) => list.create(fields),
  }), [now, list]);
}

/** @param {ChatClient} client */
function listOf(client) {
  const known = lists.get(client);
  if (known !== undefined) return known;
  const followed = new Followed(
    // All of them, where nobody else says how many messages are unread in those that are not here.
    new ConversationList(client.connection, { store: client.store, isWhole: !client.asksUnread }),
    readList,
  );
  lists.set(client, followed);
  return followed;
}

/**
 * @param {Connection} connection
 * @returns {ConnectionSnapshot}
 */
function readConnection({ state: { phase, reason, code, retryAt }, isLive, user, upstream }) {
  return { phase, isLive, reason, code, retryAt, user, upstream };
}

/**
 * @param {ConversationList} list
 * @returns {ConversationsSnapshot}
 */
function readList(list) {
  const { records, unreadCount, unreadMentions, isLoaded, isOpen, hasMore, endingReason } = list;
  return { records, unreadCount, unreadMentions, isLoaded, isOpen, hasMore, endingReason };
}

/**
 * @param {Conversation} conversation
 * @returns {ConversationSnapshot}
 */
function readConversation(conversation) {
  const { id, items, gaps, typists, drafts, edits, people, record, lastReadSeq } = conversation;
  const { phase, isOpen, hasOlder, older, olderError, firstUnread, ending } = conversation;
  return {
    id, items, gaps, typists, drafts, edits, people, record, lastReadSeq,
    phase, isOpen, hasOlder, hasNewer: conversation.hasMore.after, older, olderError,
    firstUnread, ending, endingReason: conversation.endingReason,
  };
}

/**
 * @param {Conversation} conversation
 * @returns {ConversationActions}
 */
function actionsOf(conversation) {
  return {
    conversation,
    send: (body, metadata, attachment, fields) => (
      conversation.send(body, metadata, attachment, fields)),
    resend: (id) => conversation.resend(id),
    discard: (id) => conversation.discard(id),
    rewrite: (id, body, fields) => conversation.rewrite(id, body, fields),
    see: (id) => conversation.see(id),
    edit: (of, body, mentions) => conversation.edit(of, body, mentions),
    remove: (of) => conversation.delete(of),
    react: (message, key, on, options) => conversation.react(message, key, on, options),
    fetchReactions: (message, place) => conversation.fetchReactions(message, place),
    fetchMentions: (place) => conversation.fetchMentions(place),
    markRead: (seq) => conversation.markRead(seq),
    typed: (hasText) => conversation.typed(hasText),
    loadOlder: (limit) => conversation.loadOlder(limit),
    loadNewer: (limit) => conversation.loadNewer(limit),
    loadUnread: () => conversation.loadUnread(),
    loadMention: (after) => conversation.loadMention(after),
    fill: (gap) => conversation.fill(gap),
    moveTo: (message) => conversation.loadAround(message),
    noteVisible: (first, last) => conversation.noteVisible(first, last),
  };
}
