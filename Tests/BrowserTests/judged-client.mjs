/**
 * The JavaScript client as `gapless bench client` judges clients: told what to do by lines on
 * standard input, it echoes all that it shows after each change.
 */
import { webcrypto } from 'node:crypto';
import { createInterface } from 'node:readline';
import { ChatClient, isFillable, ManagedMessageList } from '../../Sources/Browser/gapless.js';
import { NodeSocket } from './node-socket.mjs';

globalThis.crypto ??= webcrypto;
globalThis.WebSocket = NodeSocket;

let client;
let list;

function echo() {
  const rows = list.rows.flatMap(({ gap, message }) => {
    if (gap) return [{ gap: [gap.after, gap.before] }];
    const { seq, body } = message;
    return typeof seq === 'number' ? [{ seq, body: body ?? null }] : [];
  });
  console.log(JSON.stringify({ rows }));
}

/** Loads what is missing, a page at a time, as somebody would who scrolls through all of it. */
function load() {
  const { conversation, gaps } = list;
  const gap = gaps.find((each) => isFillable(each) && conversation.filling(each) === 'idle');
  if (gap) conversation.fill(gap);
  else if (conversation.hasOlder && conversation.older === 'idle') conversation.loadOlder();
}

const told = {
  open({ url, user, conversation }) {
    client = new ChatClient({ url, credentials: () => ({ user }) });
    list = new ManagedMessageList(client, { id: conversation }, {
      managedMessageListDidChange: () => {
        echo();
        queueMicrotask(load);
      },
    });
    list.online();
    client.open();
    // A page that failed is asked for again.
    setInterval(load, 250);
  },
  send(text) { list.send(text); },
  online() { client.connection.wake(); },
};

const lines = createInterface({ input: process.stdin });
lines.on('line', (line) => {
  for (const [what, value] of Object.entries(JSON.parse(line))) told[what](value);
});
lines.on('close', () => process.exit());
