import assert from 'node:assert/strict';
import { test } from 'node:test';
import { whoReacted } from '../../../Sources/Page/components/reactions.js';
import { listRows } from '../../../Sources/Page/components/rows.js';
import { isEmoji, splitCode, splitText } from '../../../Sources/Page/components/text.js';
import { listItems, settledItems } from '../../../Sources/Browser/items.js';

const at = (minute, day = 20) => `2026-11-${day}T10:${String(minute).padStart(2, '0')}:00.000Z`;
const value = (seq, author, createdAt, isHeld = true) => (
  { message: { id: `m${seq}`, seq, author, createdAt }, isHeld }
);
const gap = (after, before) => ({ after, before, missing: before - after - 1, cause: 'slow' });
const rowsOf = (items, more = {}) => listRows(items, {
  dayOf: (moment) => moment.slice(0, 10), user: 'alice', unreadAfter: null, ...more,
});
const outline = (rows) => rows.map((row) => {
  if (row.kind !== 'item') return row.kind;
  if (row.item.kind !== 'message') return row.item.kind;
  return row.isContinued ? `+${row.item.message.seq}` : row.item.message.seq;
});

test('messages of one author within five minutes are one block', () => {
  const values = [
    value(1, 'bob', at(0)), value(2, 'bob', at(4)), value(3, 'bob', at(9)), value(4, 'eve', at(9)),
  ];
  const items = listItems({ values, gaps: [], drafts: [], user: 'alice' });
  assert.deepEqual(outline(rowsOf(items)), ['day', 1, '+2', 3, 4]);
});

test('what somebody does stands alone, for it names them itself', () => {
  const act = { message: { ...value(2, 'bob', at(0)).message, metadata: { emote: true } } };
  const deleted = { message: { ...act.message, id: 'm5', seq: 5, deleted: true } };
  const said = [1, 3, 4].map((seq) => value(seq, 'bob', at(0)));
  const values = [said[0], act, ...said.slice(1), deleted];
  const items = listItems({ values, gaps: [], drafts: [], user: 'alice' });
  assert.deepEqual(outline(rowsOf(items)), ['day', 1, 2, 3, '+4', '+5']);
});

test('days, gaps and the line above what is unread end a block', () => {
  const values = [
    value(1, 'bob', at(0)), value(2, 'bob', at(1)), value(6, 'bob', at(2)),
    value(7, 'bob', at(3)), value(8, 'bob', at(3, 21)),
  ];
  const items = listItems({ values, gaps: [gap(2, 6)], drafts: [], user: 'alice' });
  const rows = rowsOf(items, { unreadAfter: 6 });
  assert.deepEqual(outline(rows), ['day', 1, '+2', 'gap', 6, 'unread', 7, 'day', 8]);
});

test('between messages that are not neighbours stands a gap, whatever is shown in it', () => {
  const held = [1, 6, 12].map((seq) => value(seq, 'bob', at(0)));
  const shown = [3, 4, 7, 8, 14].map((seq) => value(seq, 'bob', at(0), false));
  const values = [...held, ...shown].sort((a, b) => a.message.seq - b.message.seq);
  const gaps = [gap(1, 6), gap(6, 9), { ...gap(8, 12), missing: null }, gap(12, 14)];
  const items = listItems({ values, gaps, drafts: [], user: 'alice' });
  assert.deepEqual(items.map((item) => (item.kind === 'message' ? item.message.seq
    : [item.gap.after, item.gap.before, item.gap.missing, item.shownCount])), [
    1, [1, 3, 1, 0], 3, 4, [4, 6, 1, 0], 6, [6, 9, 2, 2], 7, 8, [8, 12, null, 0], 12,
    [12, 14, 1, 0], 14,
  ]);
});

test('a part of a gap that says the same is the same item', () => {
  const list = () => listItems({
    values: [value(1, 'bob', at(0)), value(4, 'bob', at(1), false)], gaps: [gap(1, 9)], drafts: [],
    user: 'alice',
  });
  const known = list().map((item) => (item.kind === 'gap' ? item : { ...item }));
  const settled = settledItems(list(), known).filter(({ kind }) => kind === 'gap');
  assert.deepEqual(settled.map((item) => item === known.find(({ key }) => key === item.key)),
    [true, true]);
});

test('a draft is not listed beside the message that it became', () => {
  const drafts = [
    { id: 'm2', body: 'hi', createdAt: at(1), state: 'sending' },
    { id: 'x', body: 'more', createdAt: at(1), state: 'sending' },
  ];
  const values = [value(1, 'bob', at(0)), value(2, 'alice', at(1))];
  const items = listItems({ values, gaps: [], drafts, user: 'alice' });
  assert.deepEqual(outline(rowsOf(items)), ['day', 1, 2, 'draft']);
});

test('keys are unique', () => {
  const values = [value(1, 'bob', at(0)), value(2, 'eve', at(0, 21)), value(3, 'bob', at(1, 20))];
  const items = listItems({ values, gaps: [gap(3, 9)], drafts: [], user: 'alice' });
  const keys = rowsOf(items, { unreadAfter: 1, seenBy: ['bob'] }).map(({ key }) => key);
  assert.equal(new Set(keys).size, keys.length);
});

test('only web addresses become links, without the punctuation around them', () => {
  const links = (text) => splitText(text).filter(({ href }) => href).map(({ href }) => href);
  assert.deepEqual(links('see https://a.example/x?y=1, or (http://b.example/c).'),
    ['https://a.example/x?y=1', 'http://b.example/c']);
  assert.deepEqual(links('https://a.example/wiki/Gap_(disambiguation).'),
    ['https://a.example/wiki/Gap_(disambiguation)']);
  assert.deepEqual(links('javascript:alert(1) data:text/html,x ftp://a.example file:///x'), []);
  assert.deepEqual(links('http:// https://'), []);
});

test('the pieces of a text are the text', () => {
  for (const text of ['', 'plain', 'https://a.example', 'a https://a.example. b http://c.example!']) {
    assert.equal(splitText(text).map((piece) => piece.text).join(''), text);
  }
});

test('code is told from what is said, in a line and over lines', () => {
  assert.deepEqual(splitCode('Use `a < b`, or\n```swift\nlet `x` = 1\nx\n```\nas `here'), [
    { text: 'Use ' }, { text: 'a < b', code: 'inline' }, { text: ', or\n' },
    { text: 'let `x` = 1\nx', code: 'block' }, { text: 'as `here' },
  ]);
  assert.deepEqual(splitCode('``` ```'), [{ text: ' ', code: 'block' }]);
  assert.deepEqual(splitCode('a ` b\nc ` d'), [{ text: 'a ` b\nc ` d' }]);
  assert.deepEqual(splitCode(''), []);
});

test('a few pictures and nothing else are a picture', () => {
  for (const text of ['🎉', '🎉🎉🎉', ' 👩🏽‍💻 ❤️', '👨‍👩‍👧']) assert.ok(isEmoji(text), text);
  for (const text of ['', ' ', '🎉🎉🎉🎉', 'a 🎉', '5', '#']) assert.ok(!isEmoji(text), text);
});

test('names of web pages without a scheme are links, other names are not', () => {
  const links = (text) => splitText(text).flatMap(({ href }) => href ?? []);
  assert.deepEqual(links('See example.org/a?b=c. Or www.example.museum!'), [
    'https://example.org/a?b=c', 'https://www.example.museum',
  ]);
  assert.deepEqual(links('bob@example.org ftp://example.org main.swift e.g. v1.2 Node.js'), []);
  assert.deepEqual(links('example.community javascript:example.org'), []);
});

test('sequences of several characters are one picture', () => {
  for (const picture of ['👨‍👩‍👧‍👦', '🏳️‍🌈', '🇩🇪🇫🇷', '1️⃣', '🏴󠁧󠁢󠁥󠁮󠁧󠁿', '👍🏽 ❤️‍🔥']) {
    assert.ok(isEmoji(picture), picture);
  }
  for (const text of ['12', '🇩🇪a', 'a', '', '🇩', '👍👍👍👍']) assert.ok(!isEmoji(text), text);
});

test('a long text takes no longer for being made so that it would', () => {
  const began = performance.now();
  for (const part of ['.', ')', 'a.', 'www.', 'http://', '`', ' ', '-', '👍']) {
    const text = `http://a${part.repeat(500_000 / part.length)}x`;
    splitText(text);
    splitCode(text);
    isEmoji(text.slice(8));
  }
  assert.ok(performance.now() - began < 10_000);
});

test('who reacted is named by name, the user first, and the rest is counted', () => {
  const context = { user: 'alice', nameOf: (id) => (id === 'bob' ? 'Bob B.' : id) };
  const who = (count, users, own) => whoReacted({ key: 'ok', count, users, own }, context);
  assert.equal(who(1, ['bob'], false), 'Bob B.');
  assert.equal(who(1, ['alice'], true), 'you');
  assert.equal(who(3, ['bob', 'carol', 'alice'], true), 'you, Bob B. and carol');
  assert.equal(who(5, ['bob', 'carol', 'dave', 'eve', 'f'], false), 'Bob B., carol and 3 others');
  const ten = ['bob', ...'cdefghijk'];
  assert.equal(who(11, ten, undefined), 'Bob B., c and 9 others');
  assert.equal(who(11, ten, true), 'you, Bob B. and 9 others');
});
