import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  handleOf, handlesIn, mentionedIn, mentionsChanged, suggested,
} from '../../../Sources/Page/components/mentions.js';
import { quoteIn } from '../../../Sources/Page/components/quote.js';
import { splitMentions } from '../../../Sources/Page/components/text.js';

const people = [
  { id: 'bob', name: 'Bob Smith' }, { id: 'carol', name: 'carol' }, { id: 'eve', name: 'Eve' },
  { id: 'eve2', name: 'Eve' }, { id: 'dot.com', name: 'Anna-Lena (ops)' },
];
const among = { people, hasAll: false };
const named = (text, of = among) => mentionedIn(text, of).mentions;

test('a text mentions by id and by name, as words, and each once', () => {
  const texts = [
    ['@bob hi', ['bob']], ['hi @Bob Smith!', ['bob']], ['@bob and @Bob Smith', ['bob']],
    ['(@carol), @bob.', ['carol', 'bob']], ['@bobby', []], ['@Carol', []], ['x@bob', []],
    ['a@@bob', []], ['bob', []], ['@', []], ['@carol\n@eve2', ['carol', 'eve2']],
    ['@Anna-Lena (ops)', ['dot.com']], ['@dot.com: look', ['dot.com']],
    // Two are called so: only their ids tell.
    ['@Eve', []], ['@eve', ['eve']],
    ['`@bob` and ```\n@carol\n```', []], ['https://x.org/@bob', []], ['@everyone', []],
  ];
  for (const [text, expected] of texts) assert.deepEqual(named(text), expected, text);
  assert.deepEqual(mentionedIn('hi @everyone', { people, hasAll: true }),
    { mentions: [], mentionAll: true });
  const everyone = [...people, { id: 'everyone', name: 'everyone' }];
  assert.deepEqual(mentionedIn('hi @everyone', { people: everyone, hasAll: true }),
    { mentions: ['everyone'], mentionAll: false }, 'somebody who is called so is meant');
});

test('what is written for a person means that person, whatever others are called', () => {
  const all = [
    ...people, { id: 'x', name: 'bob' }, { id: 'y', name: 'everyone' }, { id: 'z', name: 'a@b' },
  ];
  for (const person of all) {
    const handle = handleOf(person, all);
    assert.deepEqual(named(`hi @${handle} `, { people: all, hasAll: true }), [person.id], handle);
  }
  assert.equal(handleOf(people[0], people), 'Bob Smith');
});

test('an edit changes only whom one of the texts names', () => {
  const message = (more) => ({ body: 'hi @bob', mentions: ['bob', 'zoe'], ...more });
  const changed = (of, text, hasAll = true) => mentionsChanged(of, text, { people, hasAll });
  assert.deepEqual(changed(message(), 'hello @bob'), {});
  assert.deepEqual(changed(message(), 'hello'), { mentions: ['zoe'] });
  assert.deepEqual(changed(message(), 'hi @bob @carol'), { mentions: ['bob', 'zoe', 'carol'] });
  assert.deepEqual(changed(message(), 'hi @carol'), { mentions: ['zoe', 'carol'] });
  assert.deepEqual(changed(message(), 'hi @bob @everyone'), { mentionAll: true });
  assert.deepEqual(changed(message(), 'hi @bob @everyone', false), {});
  const all = message({ body: '@everyone', mentions: undefined, mentionAll: true });
  assert.deepEqual(changed(all, 'all'), { mentionAll: false });
  assert.deepEqual(changed(all, '@everyone!'), {});
  assert.deepEqual(changed(message({ mentions: undefined }), 'hi'), {}, 'it named nobody before');
});

test('only what a message mentions is emphasised', () => {
  const nameOf = (id) => ({ bob: 'Bob Smith' })[id] ?? id;
  const emphasised = (text, message) => splitMentions(text, handlesIn(message, nameOf))
    .flatMap(({ text: piece, handle }) => (handle === undefined ? [] : [piece]));
  const text = '@bob, @Bob Smith, @Bob, @carol and @everyone';
  assert.deepEqual(emphasised(text, { mentions: ['bob'] }), ['@bob', '@Bob Smith']);
  assert.deepEqual(emphasised(text, { mentionAll: true }), ['@everyone']);
  assert.deepEqual(emphasised(text, {}), []);
  assert.deepEqual(emphasised(text, { mentions: 'bob', mentionAll: 1 }), []);
  assert.deepEqual(emphasised('@$& @.*', { mentions: ['.*', ''] }), ['@.*']);
  const pieces = splitMentions(text, ['bob', 'Bob Smith', 'Bob']);
  assert.equal(pieces.map((piece) => piece.text).join(''), text);
  assert.deepEqual(pieces.map(({ handle }) => handle), [
    'bob', undefined, 'Bob Smith', undefined, 'Bob', undefined,
  ]);
});

test('those are offered whose name, or a word of it, or id begins so', () => {
  const offered = (typed, hasAll = false) => suggested(typed, { people, hasAll })
    .map((person) => person?.id ?? 'all');
  assert.deepEqual(offered(''), ['dot.com', 'bob', 'eve', 'eve2', 'carol']);
  assert.deepEqual(offered('sm'), ['bob']);
  assert.deepEqual(offered('BOB s'), ['bob']);
  assert.deepEqual(offered('bob '), ['bob']);
  assert.deepEqual(offered('dot'), ['dot.com']);
  assert.deepEqual(offered('ev', true), ['eve', 'eve2', 'all']);
  assert.deepEqual(offered('everyo', true), ['all']);
  assert.deepEqual(offered('x', true), []);
});

test('a quote is in the field, and of old messages in the metadata', () => {
  const quotes = [
    [{ replyTo: { id: 'a', seq: 3 } }, { id: 'a', seq: 3, isSent: true }],
    [{ replyTo: { id: 'a' } }, { id: 'a', isSent: true }],
    [{ replyTo: 'a' }, { id: 'a', isSent: false }],
    [{ metadata: { replyTo: { id: 'a', seq: 3, text: 'x' } } }, { id: 'a', seq: 3, isSent: true }],
    [{ replyTo: { id: 'b', seq: 4 }, metadata: { replyTo: { id: 'a', seq: 3 } } },
      { id: 'b', seq: 4, isSent: true }],
    [{ metadata: { replyTo: { id: 'a' } } }, null], [{ metadata: { replyTo: 'a' } }, null],
    [{ replyTo: { id: 'a', seq: 0 } }, null], [{ replyTo: { id: 5, seq: 1 } }, null],
    [{ replyTo: { id: 'a', seq: '1' } }, null], [{ replyTo: 7 }, null], [{}, null],
  ];
  for (const [message, expected] of quotes) {
    assert.deepEqual(quoteIn(message), expected, JSON.stringify(message));
  }
});
