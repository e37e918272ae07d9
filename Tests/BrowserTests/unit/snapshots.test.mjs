import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Conversation } from '../../../Sources/Browser/conversation.js';
import { Followed } from '../../../Sources/Browser/followed.js';
import { refusalOf } from '../../../Sources/Browser/refusal.js';
import { Signal } from '../../../Sources/Browser/signal.js';
import { settled } from './fake-gateway.mjs';
import { connected, FakeLog, outage } from './fake-log.mjs';

/** A conversation on a log of so many messages. */
async function followed(length) {
  const log = new FakeLog(length);
  const played = await connected(log);
  const conversation = new Conversation(played.client.connection, 'c1');
  conversation.open();
  await settled();
  return { log, conversation, ...played };
}

const names = ['items', 'gaps', 'typists', 'drafts', 'edits', 'people', 'record'];
const read = (conversation) => Object.fromEntries(names.map((name) => [name, conversation[name]]));

test('what is read twice is the same object, whatever came that changed nothing of it', async () => {
  const { conversation, sockets, log } = await followed(20);
  const before = read(conversation);
  const same = (except = []) => names.filter((name) => !except.includes(name)).forEach((name) => {
    assert.equal(conversation[name], before[name], name);
  });
  same();
  sockets.at(-1).frame({ event: 'upstream', state: 'online', since: '' });
  sockets.at(-1).frame({ event: 'read', conversation: 'c1', user: 'bob', seq: 3 });
  same();
  const { head } = log;
  sockets.at(-1).frame({
    event: 'messages', conversation: 'c1', deltas: [], covers: [[20, 20]], prev: head.rev,
    asOf: head.rev, head,
  });
  same();
  sockets.at(-1).frame({ event: 'typing', conversation: 'c1', user: 'bob', state: 'begin' });
  assert.deepEqual(conversation.typists, ['bob']);
  same(['typists']);
  const { typists } = conversation;
  sockets.at(-1).frame({ event: 'typing', conversation: 'c1', user: 'bob', state: 'begin' });
  assert.equal(conversation.typists, typists);
  conversation.close();
});

test('after a change each entry that says the same is the same object', async () => {
  const { conversation, sockets, log } = await followed(20);
  const before = conversation.items;
  sockets.at(-1).frame(log.edit(5, 'other'));
  const now = conversation.items;
  assert.notEqual(now, before);
  assert.deepEqual(now.flatMap((item, at) => (item === before[at] ? [] : [at])), [4]);
  assert.equal(now[4].message.body, 'other');
  conversation.close();
});

test('an outage in which nothing happened changes no entry', async () => {
  const { conversation, ...played } = await followed(20);
  const { items, gaps } = conversation;
  await outage(played);
  assert.equal(conversation.items, items);
  assert.equal(conversation.gaps, gaps);
  conversation.close();
});

test('a target is open while somebody listens, and its snapshot changes with its members', async () => {
  const changed = new Signal();
  const calls = [];
  const target = {
    changed, value: [1], other: 1, open: () => calls.push('open'), close: () => calls.push('close'),
  };
  const seen = new Followed(target, ({ value }) => ({ value }));
  const told = [];
  const first = seen.subscribe(() => told.push(seen.snapshot()));
  const before = seen.snapshot();
  target.other = 2;
  changed.emit();
  assert.equal(told[0], before);
  target.value = [1];
  changed.emit();
  assert.notEqual(told[1], before);
  // React ends the first listening before the next begins; the target stays open.
  first();
  first();
  const second = seen.subscribe(() => {});
  await settled();
  assert.deepEqual(calls, ['open', 'open']);
  second();
  await settled();
  assert.deepEqual(calls, ['open', 'open', 'close']);
});

test('an unknown conversation ends, with a warning for the author of the app', async () => {
  const log = new FakeLog(1);
  log.refuses = ({ method }) => (method === 'subscribeMessages' ? 'not_found' : null);
  const { client } = await connected(log);
  const [said, { warn }] = [[], console];
  console.warn = (text) => said.push(text);
  try {
    const conversation = new Conversation(client.connection, 'c1');
    conversation.open();
    await settled();
    assert.equal(conversation.endingReason, 'not_found');
    assert.match(conversation.ending, /does not exist/u);
  } finally {
    console.warn = warn;
  }
  assert.equal(said.length, 1);
  assert.match(said[0], /^gapless: subscribing to "c1": not_found: /u);
});

test('a refused origin is told apart from a gateway that is not there', async () => {
  const asked = [];
  const fetch = async (url) => { asked.push(url); };
  const away = async () => { throw new TypeError('Failed to fetch'); };
  const url = 'wss://chat.example/v1/ws';
  const origin = 'https://site.example';
  assert.match(await refusalOf(url, { origin, fetch }), /^the gateway at chat.example takes no/u);
  assert.deepEqual(asked, ['https://chat.example/v1/ws']);
  assert.equal(await refusalOf(url, { origin, fetch: away }), null);
  assert.equal(await refusalOf(url, { origin: 'https://chat.example', fetch }), null);
  assert.equal(await refusalOf(url, { fetch }), null, 'no page');
});
