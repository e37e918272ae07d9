// A chat with React: the list of conversations, one of them live, with its gaps, what is being
// sent, who types, and how the connection stands. `?user=alice&url=ws://127.0.0.1:8000/v1/ws` says
// who and where. It is bundled as every React app is, for react-chat.html beside it:
// esbuild react-chat.jsx --bundle --format=esm --jsx=automatic --outfile=react-chat.js
import { StrictMode, memo, useEffect, useLayoutEffect, useRef, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { ChatClient, MessageStore } from '@gapless/client';
import {
  ChatProvider, useConnection, useConversation, useConversations,
} from '@gapless/client/react';

function Status() {
  const { isLive, phase, reason, user } = useConnection();
  return <p role="status">{isLive ? `Connected as ${user}` : `${phase}: ${reason ?? '…'}`}</p>;
}

function Conversations({ chosen, onChoose }) {
  const { records, hasMore, loadMore } = useConversations();
  return (
    <nav>
      {records.map(({ id, title, unreadCount }) => (
        <button key={id} aria-pressed={id === chosen} onClick={() => onChoose(id)}>
          {title ?? id}{unreadCount > 0 && ` (${unreadCount})`}
        </button>
      ))}
      {hasMore && <button onClick={loadMore}>More</button>}
    </nav>
  );
}

// An item that did not change is the same object, so that its row is not drawn again.
const Row = memo(function Row({ item, fill, resend, discard }) {
  if (item.kind === 'gap') {
    const { missing } = item.gap;
    return <li className="gap"><button onClick={() => fill(item.gap)}>
      {missing ?? 'Some'} messages are missing
    </button></li>;
  }
  if (item.kind === 'draft') {
    const { id, body, state } = item.draft;
    return <li className="draft">{body} {state === 'sending' ? '…' : <>
      <button onClick={() => resend(id)}>Send again</button>
      <button onClick={() => discard(id)}>Discard</button>
    </>}</li>;
  }
  const { author, body, deleted } = item.message;
  return <li>{author}: {deleted ? <i>deleted</i> : body}</li>;
});

function Room({ id }) {
  const room = useConversation(id, { limit: 50 });
  const { items, typists, ending, hasOlder, loadOlder, send, typed, markRead } = room;
  const [text, setText] = useState('');
  const bottom = useRef(null);
  const newest = items.findLast(({ kind }) => kind === 'message')?.message.seq;
  useLayoutEffect(() => { bottom.current?.scrollIntoView(); }, [items]);
  useEffect(() => { if (newest) markRead(newest); }, [newest, markRead]);
  if (ending) return <p role="alert">{ending}</p>;
  const submit = (event) => {
    event.preventDefault();
    if (text.trim() !== '') send(text);
    setText('');
  };
  const change = ({ target }) => { setText(target.value); typed(target.value !== ''); };
  return (
    <main>
      {hasOlder && <button onClick={() => loadOlder()}>Older messages</button>}
      <ul>
        {items.map((item) => <Row key={item.key} item={item} fill={room.fill}
          resend={room.resend} discard={room.discard} />)}
      </ul>
      <p ref={bottom}>{typists.length > 0 && `${typists.join(', ')} typing…`}</p>
      <form onSubmit={submit}>
        <input aria-label="Message" value={text} onChange={change} />
      </form>
    </main>
  );
}

function App() {
  const [chosen, choose] = useState(null);
  return <>
    <Status />
    <Conversations chosen={chosen} onChoose={choose} />
    {chosen !== null && <Room key={chosen} id={chosen} />}
  </>;
}

const given = new URLSearchParams(location.search);
const user = given.get('user') ?? 'alice';
const url = given.get('url') ?? 'ws://127.0.0.1:8000/v1/ws';
const store = await MessageStore.open(user);
// With `user` all tabs share one connection.
const client = new ChatClient({ url, user, credentials: () => ({ user }), store });
createRoot(document.getElementById('app')).render(
  <StrictMode><ChatProvider client={client}><App /></ChatProvider></StrictMode>,
);
