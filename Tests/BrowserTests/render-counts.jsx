// Counts what React draws: what did not change must not be drawn again.
import { memo } from 'react';
import { createRoot } from 'react-dom/client';
import { ChatClient } from '@gapless/client';
import { ChatProvider, useConversation, useConversations } from '@gapless/client/react';

const given = new URLSearchParams(location.search);
const user = given.get('user');
const client = new ChatClient({ url: given.get('url'), credentials: () => ({ user }) });

let drawnAt = performance.now();
window.renders = { Room: 0, Rows: 0, List: 0 };
window.isQuiet = () => performance.now() - drawnAt > 1000;
const count = (name) => {
  window.renders[name] += 1;
  drawnAt = performance.now();
};

const Row = memo(function Row({ item }) {
  count('Rows');
  return <li>{item.message.author}: {item.message.body}</li>;
});

function Room() {
  count('Room');
  const { items } = useConversation(given.get('conversation'));
  return <ul>{items.map((item) => <Row key={item.key} item={item} />)}</ul>;
}

function List() {
  count('List');
  const { records } = useConversations();
  return <p id="count">{records.length}</p>;
}

createRoot(document.getElementById('app')).render(
  <ChatProvider client={client}><Room /><List /></ChatProvider>,
);
