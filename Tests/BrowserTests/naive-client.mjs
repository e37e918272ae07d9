/**
 * A client as many are: it shows what comes, connects again when the link is gone, and believes
 * that nothing happened meanwhile. `gapless bench client` has to refuse it.
 */
import { createInterface } from 'node:readline';
import { NodeSocket } from './node-socket.mjs';

const rows = new Map();
let socket;

function take({ deltas = [] }) {
  for (const { message } of deltas) rows.set(message.seq, message.body ?? null);
  const places = [...rows.keys()].sort((a, b) => a - b);
  console.log(JSON.stringify({ rows: places.map((seq) => ({ seq, body: rows.get(seq) })) }));
}

function open({ url, user, conversation }) {
  socket = new NodeSocket(url, 'gapless.v1');
  const ask = (id, method, params) => socket.send(JSON.stringify({ id, method, params }));
  socket.onopen = () => {
    ask(1, 'connect', { user });
    ask(2, 'subscribeMessages', { conversation, limit: rows.size > 0 ? 1 : 1000 });
  };
  socket.onmessage = ({ data }) => {
    const frame = JSON.parse(data);
    if (frame.id === 2 && frame.result) take(frame.result);
    if (frame.event === 'messages') take(frame);
  };
  socket.onclose = () => setTimeout(open, 100, { url, user, conversation });
  socket.say = (body) => ask(3, 'sendMessage', { conversation, id: `${Math.random()}`, body });
}

const lines = createInterface({ input: process.stdin });
lines.on('line', (line) => {
  const told = JSON.parse(line);
  if (told.open) open(told.open);
  if (told.send) socket.say(told.send);
});
lines.on('close', () => process.exit());
