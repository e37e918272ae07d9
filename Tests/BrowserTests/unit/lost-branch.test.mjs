import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManagedMessageList } from '../../../Sources/Browser/managed-message-list.js';
import { applyDelta } from '../../../Sources/Browser/merge.js';
import { settled } from './fake-gateway.mjs';
import { PlayedGateway } from './played-gateway.mjs';
import { Timers } from './played-timers.mjs';

const never = { int: () => 0, chance: () => false };
const always = { int: () => 0, chance: () => true };

/** Has the gateway answer everything, and hand it over. */
async function serve(gateway) {
  await settled();
  while (!gateway.isQuiet) {
    gateway.process(never, false);
    gateway.deliver();
    await settled();
  }
}

/** A list on a log of five messages, and one that only takes what the delegate is told. */
async function listed(context) {
  const timers = new Timers();
  context.after(timers.install());
  const gateway = new PlayedGateway();
  for (let n = 0; n < 5; n += 1) gateway.origin.say();
  gateway.connect();
  let plain = [];
  const list = new ManagedMessageList({ connection: gateway, store: null }, { id: 'c1' }, {
    managedMessageListDidChange: (deltas) => { plain = applyDelta(deltas, plain); },
  });
  list.online();
  await serve(gateway);
  const bodies = () => Array.from({ length: list.messageCount() }, (_, at) => (
    list.messageAt(at).body
  ));
  return { gateway, timers, list, bodies, told: () => plain.map(({ body }) => body) };
}

/**
 * A session in which the subscription is refused at first, so that what was written is answered
 * before there is one.
 */
async function refusedOnce(gateway) {
  gateway.connect();
  await settled();
  gateway.process(always, true);
  gateway.deliver();
  await serve(gateway);
}

/** The subscription that was refused is asked for again, and answered. */
async function subscribedAgain({ gateway, timers, list }) {
  timers.fire();
  await serve(gateway);
  assert.equal(list.conversation.phase, 'live');
}

test('what was written into a branch that is lost goes, where the rest is confirmed', async (t) => {
  const played = await listed(t);
  const { gateway, list, bodies, told } = played;
  const { rev } = gateway.origin;
  gateway.disconnect();
  list.send('mine');
  list.edit('m2', 'edited');
  await refusedOnce(gateway);
  assert.deepEqual(bodies(), ['m1', 'edited', 'm3', 'm4', 'm5', 'mine']);
  gateway.alter((log) => log.rewind(rev));
  await subscribedAgain(played);
  const shown = ['m1', 'm2', 'm3', 'm4', 'm5', gateway.origin.value(6).body];
  assert.deepEqual(bodies(), shown);
  assert.deepEqual(told(), shown, 'the delegate was told');
  assert.deepEqual([list.gaps, list.hasMore.after], [[], false]);
});

test('what was written before the subscription stays where the log has it', async (t) => {
  const played = await listed(t);
  const { gateway, list, bodies } = played;
  gateway.disconnect();
  list.send('mine');
  list.edit('m2', 'edited');
  await refusedOnce(gateway);
  await subscribedAgain(played);
  assert.deepEqual(bodies(), ['m1', 'edited', 'm3', 'm4', 'm5', 'mine']);
});

test('a message sent into a log that was recreated does not go before that is told', async (t) => {
  const played = await listed(t);
  const { gateway, list, bodies } = played;
  gateway.disconnect();
  list.send('mine');
  gateway.alter((log) => log.recreate(2));
  await refusedOnce(gateway);
  assert.deepEqual(bodies(), ['m1', 'm2', 'm3', 'm4', 'm5', 'mine']);
  await subscribedAgain(played);
  assert.equal(bodies().length, 3);
  assert.equal(bodies().at(-1), 'mine');
  assert.deepEqual(list.drafts, []);
});
