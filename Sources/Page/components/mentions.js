import { splitCode, splitMentions, splitText } from './text.js';

/** @import { Mentions } from '../../Browser/types.js' */

/** What stands behind an @ for everybody. */
export const EVERYONE = 'everyone';

/**
 * Somebody who may be mentioned.
 *
 * @typedef {{id: string, name: string}} Person
 *
 * Whom a text may mention; `hasAll`: everybody, too.
 *
 * @typedef {{people: readonly Person[], hasAll: boolean}} Mentionable
 */

/**
 * Who is meant by what stands behind an @: each id, and each name that only one of them has.
 *
 * @param {readonly Person[]} people
 * @returns {Map<string, string>}  ids by what stands behind the @
 */
function handlesOf(people) {
  const ids = new Map(people.map(({ id }) => [id, id]));
  /** @type {Map<string, string | null>} */
  const names = new Map();
  for (const { id, name } of people) names.set(name, names.has(name) ? null : id);
  for (const [name, id] of names) if (id !== null && !ids.has(name)) ids.set(name, id);
  return ids;
}

/**
 * What stands behind the @ for a person: the name, where it means nobody else.
 *
 * @param {Person} person
 * @param {readonly Person[]} people
 */
export function handleOf({ id, name }, people) {
  const isClear = name !== EVERYONE && handlesOf(people).get(name) === id && !/[@\n]/u.test(name);
  return isClear ? name : id;
}

/**
 * Whom a text mentions, in the order of the text. Code and addresses mention nobody.
 *
 * @param {string} text
 * @param {Mentionable} among
 * @returns {{mentions: string[], mentionAll: boolean}}
 */
export function mentionedIn(text, { people, hasAll }) {
  const handles = handlesOf(people);
  const all = hasAll && !handles.has(EVERYONE) ? [EVERYONE] : [];
  const named = splitCode(text).filter(({ code }) => code === undefined)
    .flatMap(({ text: part }) => splitText(part)).filter(({ href }) => href === undefined)
    .flatMap(({ text: part }) => splitMentions(part, [...handles.keys(), ...all]))
    .flatMap(({ handle }) => (handle === undefined ? [] : [handle]));
  const ids = named.flatMap((handle) => handles.get(handle) ?? []);
  return {
    mentions: [...new Set(ids)], mentionAll: all.length > 0 && named.includes(EVERYONE),
  };
}

/**
 * What an edit changes of whom a message mentions: who is named by one of the texts only. Those
 * whom no text names, and all where nothing changed, stay.
 *
 * @param {{body?: string | null, mentions?: readonly string[], mentionAll?: boolean}} message
 * @param {string} text  the new one
 * @param {Mentionable} among
 * @returns {Mentions}
 */
export function mentionsChanged({ body, mentions = [], mentionAll = false }, text, among) {
  const [before, now] = [mentionedIn(body ?? '', among), mentionedIn(text, among)];
  const gone = before.mentions.filter((id) => !now.mentions.includes(id));
  const come = now.mentions.filter((id) => !before.mentions.includes(id) && !mentions.includes(id));
  const isOther = come.length > 0 || gone.some((id) => mentions.includes(id));
  return {
    ...(isOther && { mentions: [...mentions.filter((id) => !gone.includes(id)), ...come] }),
    ...(before.mentionAll !== now.mentionAll && mentionAll !== now.mentionAll
      && { mentionAll: now.mentionAll }),
  };
}

/**
 * By what a message may name those whom it mentions.
 *
 * @param {{mentions?: readonly string[], mentionAll?: boolean}} message
 * @param {(id: string) => string} nameOf
 * @returns {string[]}
 */
export function handlesIn({ mentions, mentionAll }, nameOf) {
  // An earlier version of the gateway may have stored anything under these names.
  const ids = Array.isArray(mentions) ? mentions.filter((id) => typeof id === 'string') : [];
  return [...ids.flatMap((id) => [id, nameOf(id)]), ...(mentionAll === true ? [EVERYONE] : [])];
}

/**
 * Those whom what was typed behind an @ may mean: names, words of names, and ids that begin so.
 *
 * @param {string} typed
 * @param {Mentionable} among
 * @returns {(Person | null)[]}  null for everybody
 */
export function suggested(typed, { people, hasAll }) {
  const wanted = typed.toLowerCase();
  const begins = (/** @type {Person} */ { id, name }) => [id, name, ...name.split(/\s+/u)]
    .some((word) => word.toLowerCase().startsWith(wanted));
  const found = people.filter(begins).sort((a, b) => (a.name < b.name ? -1 : 1));
  return hasAll && EVERYONE.startsWith(wanted) ? [...found, null] : found;
}
