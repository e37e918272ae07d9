import { ReadMarker } from './read-marker.js';
import { RequestError } from './request-error.js';
import { TypingReport, Typists } from './typing.js';

/** @import { ConversationRecord, Participant } from './types.js' */

/** Names and read markers are fetched for conversations of at most this many people. */
const FETCH_LIMIT = 100;

/**
 * Those who take part in one conversation, as far as it is known: their names, up to where each has
 * read, who is typing, and one's own part in that.
 */
export class Participants {
  /** @type {ReadonlyMap<string, Participant>} */
  #people = new Map();
  #request;
  #changed;

  /**
   * @param {object} options
   * @param {(method: string, params: object,
   *   taking?: import('./pending.js').Taking) => Promise<*>} options.request  of the conversation
   * @param {() => void} options.changed  called after each change
   */
  constructor({ request, changed }) {
    this.#request = request;
    this.#changed = changed;
    /** Who is typing, oneself included. */
    this.typists = new Typists(changed);
    /** What the others are told of one's own typing. */
    this.report = new TypingReport((state) => { request('typing', { state }).catch(() => {}); });
    /** One's own read marker. */
    this.marker = new ReadMarker((seq) => request('markRead', { seq }));
  }

  /** The participants by id, empty where they are too many to be fetched. */
  get people() { return this.#people; }

  /**
   * Learns who takes part; called when a session begins.
   *
   * @param {ConversationRecord | null} record
   */
  async fetch(record) {
    if ((record?.participantCount ?? Infinity) > FETCH_LIMIT) return;
    const take = (/** @type {{participants: Participant[]}} */ { participants }) => {
      this.#people = new Map(participants.map((person) => [person.id, person]));
      this.#changed();
    };
    await this.#request('fetchParticipants', {}, { cached: take, final: take }).catch(() => {});
  }

  /**
   * Learns up to where the user has read, if that is not known yet.
   *
   * @param {ConversationRecord | undefined} record  of a reply, which may say so
   */
  async fetchMarker(record) {
    const take = (/** @type {{conversation: ConversationRecord}} */ { conversation }) => {
      this.marker.confirm(conversation.lastReadSeq ?? 0);
      this.#changed();
    };
    if (record?.lastReadSeq !== undefined) this.marker.confirm(record.lastReadSeq);
    if (this.marker.seq !== null) return;
    try {
      await this.#request('fetchConversation', {}, { cached: take, final: take });
    } catch (error) {
      // Not knowing must not keep anybody from reading on.
      if (!RequestError.is(error, 'disconnected')) this.marker.confirm(0);
      this.#changed();
    }
  }

  /**
   * Takes a `read` event.
   *
   * @param {string} user
   * @param {number} seq
   * @param {boolean} isSelf
   */
  noteRead(user, seq, isSelf) {
    const person = this.#people.get(user);
    if (person && (person.lastReadSeq ?? 0) < seq) {
      this.#people = new Map(this.#people).set(user, { ...person, lastReadSeq: seq });
    }
    if (isSelf) this.marker.confirm(seq);
  }
}
