// All that @gapless/client exports, used as an app would: tsc --strict has to take it. A test looks
// whether each exported name is here.
import {
  Administration, Backoff, ChatClient, ChatDataSource, CloseCode, Connection, Conversation, ConversationList,
  Coverage, Grouping, History, Holder, ManagedMessageList, MessageStore, Outbox, Presence, Pubsub,
  RequestError, ScrollView, Signal, Timeline, applyDelta, chatItemChanges, closeReason,
  connectionOf, decorateChatItems, distance, findBoundaries, findBoundariesOf,
  findBoundaryIndices, historyScenario, indexOfChatItem, isFillable, loadFor, loadForGap,
  mayComeBack, mentionsUser, merge, newIdentifier, nextLoad, onError, pageByLimit, scenarioOf, tombstones,
} from '@gapless/client';
import type {
  Ask, ConnectionState, ConversationName, Credentials, Have, Reason, Seen, Unread, UpstreamState,
  Boundary, ChatDataSourceDelegate, ChatMessageItem, ConversationDelta, ConversationRecord, Draft,
  Gap, HistoryDelegate, Item, ListMessage, ListNews, ManagedMessageListDelegate, Mentions,
  MentionsPlace, MentionsResult, Message, MessageDelta, MessagesNews, Participant, PresenceState,
  PresenceWatch, Reaction, ReactionsPlace, ReactionsResult, ReplyTo, SendFields, UserPresence,
} from '@gapless/client';

/** The members of a class that are, or give, what tsc knows nothing of. */
type Loose<T> = {
  [Name in keyof T]-?: 0 extends (1 & T[Name]) ? Name
    : T[Name] extends (...given: never[]) => infer Result
      ? 0 extends (1 & Awaited<Result>) ? Name : never
      : never
}[keyof T];
type Tight<T, Known = never> = [Exclude<Loose<T>, Known>] extends [never] ? true : false;

// What a request or a store answers is for who asked to read.
export const isTight: {
  backoff: Tight<Backoff>, client: Tight<ChatClient>, source: Tight<ChatDataSource>,
  connection: Tight<Connection, 'request'>, conversation: Tight<Conversation>,
  list: Tight<ConversationList>, coverage: Tight<Coverage>, grouping: Tight<Grouping>,
  history: Tight<History>, holder: Tight<Holder>, managed: Tight<ManagedMessageList>,
  store: Tight<MessageStore, 'loadAnswer'>, outbox: Tight<Outbox>, presence: Tight<Presence>, pubsub: Tight<Pubsub>,
  error: Tight<RequestError>, signal: Tight<Signal<string>>, timeline: Tight<Timeline>,
} = {
  backoff: true, client: true, source: true, connection: true, conversation: true, list: true,
  coverage: true, grouping: true, history: true, holder: true, managed: true, store: true,
  outbox: true, presence: true, pubsub: true, error: true, signal: true, timeline: true,
};

export async function faces(record: ConversationRecord) {
  const store: MessageStore | null = await MessageStore.open('alice');
  const client = new ChatClient({
    url: 'wss://chat.example.org/v1/ws', user: 'alice', store, credentials: ({ expired }) => (
      expired ? null : { token: 't', expiresAt: '2026-11-20T10:00:00.000Z' }
    ),
  });
  const told: ManagedMessageListDelegate & HistoryDelegate & ChatDataSourceDelegate = {
    managedMessageListDidChange(deltas: MessageDelta[], { reset, gaps }: ListNews) {
      console.log(deltas.map(({ type }) => type).join(), reset, gaps.length);
    },
    managedMessageListDidEnd(reason: string) { console.log(reason); },
    historyDidChange({ messages, loading, unreadBannerAfter }) {
      console.log(messages.length, loading.top, loading.bottom, unreadBannerAfter?.length);
    },
    historyMoveTo(of, message: string, highlight: boolean) { console.log(of, message, highlight); },
    historyDidEnd(reason: string, of) { console.log(of.ending === reason); },
    chatDataSourceDidUpdate(of, type) { console.log(of.chatItems.length, type === 'reload'); },
    chatDataSourceDidEnd(reason: string, of) { console.log(of.ending === reason); },
  };
  const list = new ManagedMessageList(client, record, told);
  Object.assign(list, { fetchLimit: 50, useCache: true, syncOnReconnect: true });
  list.online();
  const history = new History(client, record);
  history.delegate = told;
  history.open();
  const source = new ChatDataSource(client, record.id);
  source.delegate = told;
  source.adjustNumberOfMessages({ preferredMaxCount: 100, focusPosition: 0.5 }, (didAdjust) => {
    console.log(didAdjust, source.hasMoreNext, source.hasMorePrevious);
  });
  for (const face of [list, history, source]) {
    const gaps: readonly Gap[] = face.gaps;
    const ending: string | null = face.ending;
    const written: readonly Draft[] = [...face.drafts, ...face.edits];
    const about: Mentions = { mentions: ['bob'], mentionAll: false };
    const fields: SendFields = { ...about, replyTo: 'm1' };
    const id: string = face.send('hello', { color: 'red' }, undefined, fields);
    face.retry(id);
    console.log(face.rewrite(id, 'shorter', { replyTo: undefined }), written[0]?.replyTo);
    face.discard(id);
    face.markRead(1);
    await Promise.all([face.edit(id, 'other', about), face.delete(id)]).catch((error: unknown) => {
      if (error instanceof RequestError) console.log(error.code, error.retry, error.current);
    });
    console.log(gaps.filter(isFillable), ending, written);
    const behind: MentionsPlace = { after: 3, limit: 1 };
    const { places, total: all }: MentionsResult = await face.fetchMentions(behind);
    console.log(places[0].seq, all, (await client.fetchMentions(record, behind)).total);
    const place: ReactionsPlace = { key: 'ok', limit: 50 };
    await face.react(id, 'ok').then(() => face.react(id, 'ok', false, { user: 'bob' }));
    const { reactions, total, next }: ReactionsResult = await face.fetchReactions(id, place);
    const more = await client.fetchReactions(record, id, { ...place, cursor: next });
    console.log(reactions[0].user, reactions[0].at, total, more.reactions[0].key);
  }
  for (const row of list.rows) console.log(row.kind === 'gap' ? row.gap.after : row.message.body);
  const answered: ReplyTo | undefined = list.messageAt(0).replyTo;
  console.log(answered?.id, answered?.seq, mentionsUser(list.messageAt(0), 'alice'));
  const chips: Reaction[] = list.messageAt(0).reactions ?? [];
  console.log(chips.map(({ key, count, users, own }) => [key, count, users.join(), own === true]));
  console.log(list.messageAt(list.messageCount() - 1).author, list.isHeldAt(0), list.hasMore.after);
  const rows = decorateChatItems(source.chatItems);
  console.log(indexOfChatItem('m1', rows), chatItemChanges([], source.chatItems).moves);
  const shown: readonly ChatMessageItem[] = source.chatItems;
  const found = await client.findBoundaries(record);
  const ends: Boundary[] = found.boundaries;
  console.log(shown, ends[0].newest.seq, client.send(record.id, 'hello', {}, null, { mentionAll: true }));
  client.pubsub.onConnect(() => list.online());
  client.pubsub.onDisconnect(() => list.offline());
  client.subscribeMessages(record, (deltas, { ending }: MessagesNews) => console.log(ending));
  client.subscribeConversations((deltas: ConversationDelta[]) => merge([], deltas));
  const { participants } = await client.getParticipants(record.id, { limit: 10 });
  const people: Participant[] = participants;
  console.log(people, history.scenario?.kind, scenarioOf(record).kind);
  console.log(historyScenario({ lastMessage: 3, lastSeen: 1 }).kind);
}

export async function administered(client: ChatClient, name: ConversationName, ask: Ask) {
  const administration: Administration = client.administration(name);
  const record: ConversationRecord = await administration.update({ title: 'Ops' });
  await administration.addParticipants(['bob']);
  await client.createConversation({ participants: ['bob'], distinct: true });
  const given: Credentials | null = await ask({ expired: false });
  const state: ConnectionState = client.connection.state;
  const upstream: UpstreamState | null = client.connection.upstream;
  const unread: Unread | null = client.connection.unread;
  const conversation = new Conversation(client.connection, name);
  const seen: Seen = conversation.see('m1');
  const have: Have | null = conversation.have;
  conversation.changed.listen((reason: Reason) => console.log(reason, have, seen.rev));
  await conversation.administration.leave();
  const watch: PresenceWatch[] = [{ conversation: name, users: ['bob'] }, { conversation: record }];
  const stop: () => void = client.presence.watch(watch);
  const bob: UserPresence = client.presence.get('bob');
  const states: ReadonlyMap<string, UserPresence> = Presence.of(client.connection).states;
  const own: PresenceState = 'hidden';
  client.setPresence(own);
  client.presence.changed.listen(() => console.log(bob.since, bob.isOpen, states.size));
  if (client.presence.error?.code === 'too_large') stop();
  console.log(record, given, state.phase, upstream?.state, unread?.messages);
}

export function parts(messages: ListMessage[], page: Message[], gap: Gap, element: HTMLElement) {
  const credentials = () => ({ user: 'alice' });
  const connection: Connection = connectionOf({ url: 'ws://x', credentials });
  new Connection({ url: 'ws://x', credentials }).close();
  onError((error: unknown) => console.log(error))();
  const stop: () => void = connection.changed.listen(() => console.log(connection.state.phase));
  stop();
  const conversation = new Conversation(connection, 'ops');
  const items: readonly Item[] = conversation.items;
  console.log(conversation.firstUnread?.length, conversation.olderError?.code);
  conversation.loadMention(5).then((id: string | null) => console.log(id));
  const list = new ConversationList(connection);
  list.create({ title: 'Ops', participants: ['alice'] }).then(({ id }) => list.record(id));
  console.log(list.unreadMentions, list.records[0].unreadMentions, connection.unread?.mentions);
  const runs = new Coverage([[1, 5]]).union(Coverage.interval(8, 9));
  const known = { runs, floor: 1, head: 20 };
  console.log(loadFor({ jump: 3 }, known)?.order, loadForGap(gap, 'older', known)?.before);
  console.log(nextLoad({
    count: 3, gapAt: () => undefined, first: 0, last: 2, isUpward: true, hasOlder: true,
    mayFill: () => true,
  }));
  const timeline = new Timeline('ops');
  timeline.apply(pageByLimit({ kind: 'latest', conversation: 'ops', messages, limit: 50 }));
  const grouping = new Grouping(timeline, tombstones('alice'));
  const held = new Holder();
  const [first, last] = [messages[0], messages[1]];
  const [newest, oldest]: [ListMessage, ListMessage] = findBoundaries(messages)[0];
  console.log(distance(first, last), newest.id, oldest.id, findBoundaryIndices(messages)[0][1]);
  console.log(findBoundariesOf(messages, runs.runs).length, merge(page, page).length);
  const delta: MessageDelta = { type: 'inserted', message: page[0] };
  console.log(applyDelta([delta], page).length, grouping.rows, held.have?.asOf, items.length);
  console.log(Outbox.of(connection, null).all, new Pubsub(connection).isConnected);
  console.log(new Backoff({ base: 100 }).next(), newIdentifier().length, new Signal<void>());
  console.log(mayComeBack(CloseCode.draining), closeReason(1006));
  const draw = ({ id }: { id: string, hash: string }) => {
    const row = document.createElement('p');
    row.textContent = id;
    return row;
  };
  const view = new ScrollView({ draw, element });
  view.updateItems([{ id: '1', hash: 'a' }]);
}
