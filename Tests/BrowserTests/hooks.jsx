// Shows what the hooks give, in StrictMode: React mounts each component twice, and an app that
// closes its client when the component that made it goes closes and opens it.
import { StrictMode, useEffect, useMemo, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { ChatClient } from '@gapless/client';
import {
  ChatProvider, useChatClient, useConnection, useConversation, useConversations, usePresence,
  useUnread,
} from '@gapless/client/react';

const given = Object.fromEntries(new URLSearchParams(location.search));
const { user, url, conversation, opensAt, unread, watched } = given;

function Room() {
  const room = useConversation(conversation, { limit: 20, opensAt });
  window.room = room;
  return <p id="room">{room.phase} {room.items.length} {room.firstUnread}</p>;
}

function Person() {
  const { states, error } = usePresence(conversation, [watched]);
  const { state, isOpen } = states.get(watched) ?? {};
  return <p id="person">{state}{isOpen && ' open'}{error?.reason}</p>;
}

function List() {
  const { unreadCount, unreadMentions, hasMore } = useConversations();
  const total = useUnread();
  window.mentions = [unreadMentions, total?.mentions];
  return <p id="list">{unreadCount} {String(hasMore)} {total?.messages ?? 'unknown'}</p>;
}

function App() {
  const client = useMemo(() => new ChatClient({
    url, user, unread: unread === 'true', credentials: () => ({ user }),
  }), []);
  useEffect(() => {
    client.open();
    return () => client.close();
  }, [client]);
  return <ChatProvider client={client}><Inside /></ChatProvider>;
}

function Inside() {
  const { phase } = useConnection();
  const [isThere, setThere] = useState(true);
  window.toggle = () => setThere(!isThere);
  window.client = useChatClient();
  return <>
    <p id="phase">{phase}</p>
    {isThere && conversation && <Room />}
    {isThere && watched && <Person />}
    {isThere && !conversation && <List />}
  </>;
}

createRoot(document.getElementById('app')).render(<StrictMode><App /></StrictMode>);
