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
  /** Who takes part, where all are known. @type {readonly string[] | null} */
  #ids = null;
  /** The last answer of `recordWith`, and what it was made of. */
  /** @type {{of: ConversationRecord, ids: readonly string[], record: ConversationRecord} | null} */
  #whole = null;
  /** Whether it changed since it was asked for. */
  #isStale = false;
  #isAsking = false;
  #request;
  #self;
  #changed;

  /**
   * @param {object} options
   * @param {(method: string, params: object,
   *   taking?: import('./pending.js').Taking) => Promise<*>} options.request  of the conversation
   * @param {() => string | null} options.self  who we are
   * @param {() => void} options.changed  called after each change
   */
  constructor({ request, self, changed }) {
    this.#self = () => self() ?? '';
    this.#request = request;
    this.#changed = changed;
    /** Who is typing, oneself included. */
    this.typists = new Typists(changed);
    /** What the others are told of one's own typing. */
    this.report = new TypingReport((state) => { request('typing', { state }).catch(() => {}); });
    /** One's own read marker. */
    this.marker = new ReadMarker(async (seq) => {
      const answer = await request('markRead', { seq });
      this.#noteMarker(this.#self(), answer.lastReadSeq);
      this.#changed();
      return answer;
    });
  }

  /** The participants by id, empty where they are too many to be fetched. */
  get people() { return this.#people; }

  /**
   * The record of the conversation with those who take part, whom events leave out; the same
   * object until it is another.
   *
   * @param {ConversationRecord | null} record
   * @returns {ConversationRecord | null}
   */
  recordWith(record) {
    const ids = this.#ids;
    if (record === null || record.participants !== undefined) return record;
    if (ids === null || ids.length !== record.participantCount) return record;
    if (this.#whole?.of !== record || this.#whole.ids !== ids) {
      this.#whole = { of: record, ids, record: { ...record, participants: [...ids] } };
    }
    return this.#whole.record;
  }

  /**
   * Learns who takes part, by which names, and up to where each has read; called when a session
   * begins, and each time that the record changed: joins, removals and names are changes of it.
   *
   * @param {ConversationRecord | null} record
   */
  async fetch(record) {
    if (record?.participants !== undefined) this.#ids = record.participants;
    if ((record?.participantCount ?? Infinity) > FETCH_LIMIT) {
      [this.#people, this.#ids, this.#isStale] = [new Map(), null, false];
      return;
    }
    this.#isStale = true;
    if (this.#isAsking) return;
    this.#isAsking = true;
    try {
      while (this.#isStale) {
        this.#isStale = false;
        const take = this.#people.size === 0 ? { cached: this.#take } : {};
        await this.#request('fetchParticipants', {}, { ...take, final: this.#take });
      }
    } catch {
      // The next session, or the next change, asks again.
    } finally {
      this.#isAsking = false;
    }
  }

  #take = (/** @type {{participants: Participant[]}} */ { participants }) => {
    // A marker never moves back, and what was heard of it meanwhile counts.
    this.#people = new Map(participants.map((person) => {
      const { lastReadSeq: known = 0 } = this.#people.get(person.id) ?? {};
      const { lastReadSeq = 0 } = person;
      return [person.id, { ...person, lastReadSeq: Math.max(lastReadSeq, known) }];
    }));
    // They come newest first; a record names them in the order in which they joined.
    const ids = participants.map(({ id }) => id).reverse();
    if (JSON.stringify(ids) !== JSON.stringify(this.#ids)) this.#ids = ids;
    this.#changed();
  };

  /** Begins again from nothing: the log is another one, and with it the markers. */
  forget() {
    this.marker.forget();
    this.#people = new Map([...this.#people].map(([id, person]) => (
      [id, { ...person, lastReadSeq: 0 }]
    )));
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
    this.#noteMarker(user, seq);
    if (isSelf) this.marker.confirm(seq);
  }

  /**
   * Messages came: sending one moves the marker of its author to it.
   *
   * @param {readonly {author: string, seq: number}[]} messages
   * @param {string | null} self
   */
  noteAuthors(messages, self) {
    for (const { author, seq } of messages) {
      if (author === self && this.marker.seq !== null) this.noteRead(author, seq, true);
      else this.#noteMarker(author, seq);
    }
  }

  /** @param {string} user @param {number} seq */
  #noteMarker(user, seq) {
    const person = this.#people.get(user);
    if (person && (person.lastReadSeq ?? 0) < seq) {
      this.#people = new Map(this.#people).set(user, { ...person, lastReadSeq: seq });
    }
  }
}
