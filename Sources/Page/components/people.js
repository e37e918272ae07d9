import { element } from './dom.js';

/** @import { ConversationRecord } from '../../Browser/types.js' */

/** How many colours the style sheet has for names. */
const TONES = 12;

/**
 * The colour of a name: the same everywhere, for everybody.
 *
 * @param {string} name
 */
export function tone(name) {
  let hash = 2166136261;
  for (let at = 0; at < name.length; at += 1) {
    hash = Math.imul(hash ^ name.charCodeAt(at), 16777619);
  }
  return (hash >>> 8) % TONES;
}

/**
 * The first letters of at most two words of a name.
 *
 * @param {string} name
 */
function initials(name) {
  const words = name.match(/[\p{L}\p{N}]+/gu) ?? [];
  return words.slice(0, 2).map((word) => [...word][0].toUpperCase()).join('') || '?';
}

/**
 * A round picture for a name. It says nothing that the text beside it does not say.
 *
 * @param {string} name
 * @param {string} [kind]  `person` or `group`
 */
export function avatar(name, kind = 'person') {
  return element('span', {
    class: 'avatar', 'data-tone': tone(name), 'data-kind': kind, 'aria-hidden': true,
  }, initials(name));
}

/**
 * What a conversation is called: its title, otherwise who else takes part, otherwise its id.
 *
 * @param {ConversationRecord | null | undefined} record
 * @param {string} id
 * @param {string | null} user
 */
export function conversationName(record, id, user) {
  if (record?.title) return record.title;
  const others = (record?.participants ?? []).filter((person) => person !== user);
  return others.length > 0 ? listNames(others) : id;
}

/**
 * "alice", "alice and bob", "alice, bob and 3 others".
 *
 * @param {string[]} names
 * @param {number} [most]
 */
export function listNames(names, most = 3) {
  if (names.length <= 1) return names.join('');
  if (names.length <= most) return `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
  const rest = names.length - most + 1;
  return `${names.slice(0, most - 1).join(', ')} and ${rest} others`;
}
