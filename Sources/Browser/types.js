/**
 * The objects of the Gapless protocol as JSDoc types: nothing here runs. Each name is the word that
 * the protocol's reference uses for it.
 *
 * @typedef {number} Seq  a message's place in its conversation, from 1
 * @typedef {number} Rev  the number of a change of a conversation
 *
 * @typedef {object} Head  the newest change known of a conversation's log
 * @property {string} epoch  changes when the log was recreated, restored or rewound
 * @property {Seq} seq  the highest place given, 0 in an empty conversation
 * @property {Rev} rev  the number of the newest change
 * @property {string} mark  what this log alone has at `rev`
 * @property {Seq} floor  the oldest place that the origin still has
 *
 * @typedef {object} Have  what a holder holds
 * @property {Head} head
 * @property {Rev} asOf  each slot held has every change up to this one
 * @property {[number, number][]} runs
 *
 * @typedef {'upstream' | 'cache' | 'slow' | 'limit' | 'cold' | 'trimmed'} GapCause
 *
 * @typedef {object} Gap  places that are not held; both ends are exclusive
 * @property {number} after
 * @property {number} before
 * @property {number | null} missing  places in it, null where numbering is not dense
 * @property {GapCause} cause
 * @property {string} since  RFC 3339
 *
 * @typedef {object} Reaction  one key of a message, and who has it
 * @property {string} key  an emoji, or any other text of 1 to 64 bytes of UTF-8
 * @property {number} count  how many users have it
 * @property {string[]} users  the first of them, at most 10
 * @property {boolean} [own]  whether the user has it, in what a view shows; left out while that is
 *   not known, and in what the gateway sends
 *
 * @typedef {object} ReactionsPlace  which of a message's reactions are asked for
 * @property {string} [key]  of this key alone
 * @property {number} [limit]  of reactions in a page
 * @property {string} [cursor]  `next` of the page before
 *
 * @typedef {object} ReactionsResult  the answer of `fetchReactions`
 * @property {{user: string, key: string, at: string}[]} reactions  oldest first; `at` is RFC 3339
 * @property {number} total  of all pages
 * @property {string} [next]  the cursor of the next page; left out with the last one
 *
 * @typedef {object} ReplyTo  the message to which another one replies
 * @property {string} id
 * @property {Seq} [seq]  left out where the log did not know the id, and in what is not sent yet
 *
 * @typedef {object} Mentions  whom a message mentions; in an edit, what is left out stays
 * @property {readonly string[]} [mentions]  users; those who don't take part are left out
 * @property {boolean} [mentionAll]  everybody
 *
 * @typedef {Mentions & {replyTo?: string}} SendFields  what else a message says; `replyTo`: the id
 *   of the message to which it replies
 *
 * @typedef {object} MentionsPlace  which messages that mention the user are asked for
 * @property {Seq} [after]  those behind this place; 0 where it is left out
 * @property {number} [limit]  1 to 1,000; 100 where it is left out
 *
 * @typedef {object} MentionsResult  the answer of `fetchMentions`
 * @property {{id: string, seq: Seq}[]} places  oldest first
 * @property {number} total  of all, whatever was asked for
 *
 * @typedef {object} Message
 * @property {string} id
 * @property {string} conversation
 * @property {Seq} seq
 * @property {Rev} rev
 * @property {string} author
 * @property {string | null} [body]
 * @property {*} [attachment]
 * @property {Record<string, *>} [metadata]
 * @property {string} createdAt  RFC 3339
 * @property {string | null} [editedAt]
 * @property {boolean} deleted
 * @property {ReplyTo} [replyTo]  left out where it is no reply
 * @property {string[]} [mentions]  the users whom it mentions; left out where there are none
 * @property {true} [mentionAll]  it mentions everybody; left out where it does not
 * @property {Reaction[]} [reactions]  in the order in which their keys came; left out where none is
 * @property {Rev} [contentRev]  the last change that was no reaction; left out where it is `rev`
 * @property {true} [trimmed]  it was sent, and the log has it no longer
 *
 * @typedef {object} ConversationRecord
 * @property {string} id
 * @property {string | null} [title]
 * @property {string[]} [participants]  left out above 100 of them, and in events
 * @property {number} [participantCount]
 * @property {string[]} [admins]
 * @property {Record<string, *>} [metadata]
 * @property {string} [createdAt]
 * @property {string} [updatedAt]
 * @property {Rev} [rev]
 * @property {Message | null} [lastMessage]
 * @property {Head} [head]
 * @property {number} [unreadCount]  the caller's own, in replies only
 * @property {Seq} [lastReadSeq]  the caller's own, in replies only
 * @property {number} [unreadMentions]  how many of the unread messages mention the caller, or all;
 *   as of the last answer, and up to date where the client has `unread`
 *
 * @typedef {object} Participant
 * @property {string} id
 * @property {string | null} [name]
 * @property {Seq} [lastReadSeq]
 *
 * @typedef {{type: 'inserted' | 'updated' | 'deleted', via: string, message: Message}} Delta
 *
 * @typedef {object} SubscribeResult  the answer of `subscribeMessages`
 * @property {Delta[]} deltas
 * @property {[number, number][]} covers
 * @property {Gap[]} gaps
 * @property {Rev} asOf
 * @property {Head} head
 * @property {boolean} [open]
 * @property {boolean} [reset]
 * @property {ConversationRecord} [conversation]
 *
 * @typedef {object} PageResult  the answer of `fetchMessages`
 * @property {Message[]} messages
 * @property {{before: boolean, after: boolean}} hasMore
 * @property {[number, number][]} covers
 * @property {Gap[]} [gaps]
 * @property {Rev} asOf
 * @property {Head} head
 * @property {boolean} [open]
 * @property {boolean} [reset]
 * @property {{newest: {id: string | null, seq: Seq}, oldest: {id: string | null, seq: Seq}}[]}
 *   [boundaries]  the ends of the runs in it, newest run first
 *
 * @typedef {{event: string} & Record<string, *>} EventFrame
 *
 * @typedef {object} UpstreamState
 * @property {'online' | 'syncing' | 'offline'} state
 * @property {string} since  RFC 3339
 *
 * @typedef {object} Unread  what the user has not read, over all conversations
 * @property {number} messages
 * @property {number} conversations  in how many they are
 * @property {number} mentions  how many of them mention the user, or all
 * @property {boolean} open  whether there may be changes that are not counted
 *
 * @typedef {{name: string, at: number, count: number}} Heard  the last that was heard of a
 *   conversation: an event's name or the method that was answered, when (milliseconds since 1970),
 *   and the count of messages in it
 *
 * @typedef {'began' | 'resumed' | 'page' | 'messages' | 'restored' | undefined} Reason  why a
 *   conversation changed: it began (or began anew), came back after an outage, a page came,
 *   messages came or changed, or a store brought it back
 */

export {};
