import { compareConversations } from './conversation-merge.js';
import { Coverage } from './coverage.js';
import { heldPage } from './held-page.js';

/** @import { PageParams } from './held-page.js' */
/** @import { Saved } from './message-log.js' */
/** @import { ConversationRecord, Message, PageResult, Participant } from './types.js' */

/**
 * What was answered to a question, and when: newest first, these are what is known by record. A
 * question that nobody asked before is answered from them, for display only.
 *
 * @typedef {{params: Record<string, *>, at: number, result: *}} Answer
 */

/**
 * The page that was asked for, out of all pages of the newest log that is known.
 *
 * @param {readonly Answer[]} answers
 * @param {Saved | null} saved  what was held
 * @param {PageParams} params
 * @returns {PageResult | null}
 */
export function knownPage(answers, saved, params) {
  const pages = answers.map(({ result }) => /** @type {PageResult} */ (result));
  const heads = [...pages.map(({ head }) => head), ...(saved ? [saved.have.head] : [])];
  const { epoch } = pages[0]?.head ?? saved?.have.head ?? {};
  const head = heads.filter((each) => each.epoch === epoch).sort((a, b) => b.rev - a.rev)[0];
  if (head === undefined) return null;
  /** @type {Map<number, Message>} */
  const messages = new Map();
  let runs = Coverage.empty;
  const take = (/** @type {Message[]} */ some, /** @type {[number, number][]} */ covers) => {
    runs = runs.union(new Coverage(covers));
    for (const message of some) {
      if ((messages.get(message.seq)?.rev ?? 0) < message.rev) messages.set(message.seq, message);
    }
  };
  for (const page of pages) if (page.head.epoch === epoch) take(page.messages, page.covers);
  if (saved?.have.head.epoch === epoch) take(saved.messages, saved.have.runs);
  runs = runs.clipped(head.floor, head.seq);
  const have = { head, asOf: 0, runs: runs.runs };
  return heldPage({ have, messages: [...messages.values()], record: null }, params);
}

/**
 * Those who were asked for, out of all of one conversation that are known by their place.
 *
 * @param {readonly Answer[]} answers
 * @param {{limit?: number, offset?: number, order?: 'asc' | 'desc'}} params
 */
export function knownPeople(answers, { limit = 0, offset = 0, order = 'desc' }) {
  const { total } = answers[0]?.result ?? {};
  if (typeof total !== 'number') return null;
  /** @type {Map<number, Participant>} */
  const places = new Map();
  // Of as many people as there were last: with another number everybody has another place.
  const same = answers.filter(({ result }) => result.total === total && result.participants);
  for (const { params, result } of same) {
    const first = (params.limit ?? 0) > 0 ? params.offset ?? 0 : 0;
    result.participants.forEach((/** @type {Participant} */ person, /** @type {number} */ at) => {
      const place = (params.order ?? 'desc') === order ? first + at : total - 1 - first - at;
      if (!places.has(place)) places.set(place, person);
    });
  }
  const first = limit > 0 ? offset : 0;
  const participants = [];
  for (let place = first; places.has(place) && place < first + (limit > 0 ? limit : total);) {
    participants.push(places.get(place));
    place += 1;
  }
  return participants.length === 0 ? null : { participants, total, limit, offset: first };
}

/**
 * The top of the list of conversations, out of all that were listed.
 *
 * @param {readonly Answer[]} answers
 * @param {{limit?: number}} params
 */
export function knownList(answers, { limit }) {
  const listed = answers.filter(({ result }) => Array.isArray(result.conversations));
  if (listed.length === 0) return null;
  /** @type {Map<string, ConversationRecord>} */
  const records = new Map();
  for (const { result } of listed) {
    for (const record of /** @type {ConversationRecord[]} */ (result.conversations)) {
      const known = records.get(record.id);
      const isNewer = (record.rev ?? 0) > (known?.rev ?? 0)
        || (record.head?.rev ?? 0) > (known?.head?.rev ?? 0);
      if (known === undefined || isNewer) records.set(record.id, record);
    }
  }
  const conversations = [...records.values()].sort(compareConversations).slice(0, limit);
  return { conversations, total: listed[0].result.total ?? records.size };
}
