/**
 * The page: it finds out who uses it, keeps one connection, and shows the conversation list and the
 * conversation that the address names. Everything it knows comes from the client library.
 */

import { Attendance, firstPresence } from './components/attendance.js';
import { ConversationListView } from './components/conversation-list.js';
import { ConversationView } from './components/conversation-view.js';
import { confirmation, newConversation, signIn } from './components/dialogs.js';
import { element } from './components/dom.js';
import { closeEarly, EarlyWebSocket } from './components/early-socket.js';
import { Health } from './components/health.js';
import {
  expectedUser, forgetToken, knownIdentity, rememberIdentity, rememberUser, takeGivenToken,
} from './components/identity.js';
import { Notifications } from './components/notifications.js';
import { keepForOffline } from './components/offline.js';
import { StatusBar } from './components/status.js';
import { UnsentTexts } from './components/unsent.js';
import {
  CloseCode, connectionOf, Conversation, ConversationList, MessageStore,
} from '../Browser/gapless.js';
import { Outbox } from '../Browser/outbox.js';

/** So many conversations keep what they hold, to be resumed instead of read again. */
const KEPT = 12;

const page = /** @type {HTMLElement} */ (document.getElementById('page'));
const sidebar = /** @type {HTMLElement} */ (document.getElementById('sidebar'));
const main = /** @type {HTMLElement} */ (document.getElementById('main'));

/** Where the gateway of this page listens. */
function gatewayAddress() {
  const address = new URL('/v1/ws', location.href);
  address.protocol = location.protocol === 'https:' ? 'wss:' : 'ws:';
  return address.href;
}

/** Who an address with a token says that we are. The page asks its present user first. */
async function givenIdentity() {
  const given = takeGivenToken();
  if (given === null) return null;
  const { token, user, before } = given;
  const isSure = before === null || before === user || await confirmation({
    question: `You are ${before} here. This link signs you in as ${user ?? 'somebody else'}.`,
    answer: 'Sign in', other: `Stay ${before}`,
  });
  if (!isSure) return null;
  const chosen = { token };
  rememberIdentity(chosen);
  return chosen;
}

let identity = await givenIdentity() ?? knownIdentity();
/** What the gateway was last told. */
let offered = identity;

/** @param {{expired: boolean}} need */
function credentials({ expired }) {
  // A token that ran out would run out again.
  if (expired && identity === offered) return null;
  offered = identity;
  return identity;
}

const user = expectedUser(identity);
/** What was held when the page was left is shown before the gateway has answered. */
const store = user === null ? null : await MessageStore.open(user);
const connection = connectionOf({
  url: gatewayAddress(),
  client: 'gapless-page',
  user,
  credentials,
  unread: true,
  presence: firstPresence(),
  environment: { WebSocket: EarlyWebSocket },
});
const list = new ConversationList(connection, { store });
const unsent = new UnsentTexts(user);
/** What was written and not confirmed, whatever conversation is open. */
const outbox = Outbox.of(connection, store);
const health = new Health(connection);
const attendance = new Attendance({ connection, list });

/** What was open lately, newest last. @type {Map<string, Conversation>} */
const conversations = new Map();
/** @type {{conversation: Conversation, view: ConversationView} | null} */
let shown = null;

const listView = new ConversationListView({
  connection, list, unsent, health, attendance, onSelect: (id) => navigate(id),
  onCreate: () => create(),
});
const notifications = new Notifications({ connection, list, onOpen: (id) => navigate(id) });
const status = new StatusBar({
  connection, health, onUser: () => changeUser(),
  more: [attendance.button, notifications.button],
});
sidebar.append(...listView.elements, status.element);

/**
 * Opens a conversation and makes the address name it; `null` goes back to the list.
 *
 * @param {string | null} id
 */
function navigate(id) {
  const address = new URL(location.href);
  if (id === null) address.searchParams.delete('conversation');
  else address.searchParams.set('conversation', id);
  if (address.href !== location.href) history.pushState(null, '', address);
  show(id);
}

/** @param {string | null} id */
function show(id) {
  page.dataset.view = id === null ? 'list' : 'conversation';
  listView.select(id);
  if (shown?.conversation.id === id) return;
  shown?.view.dispose();
  shown?.conversation.close();
  shown = null;
  if (id === null) {
    main.replaceChildren(element('p', { class: 'nothing' }, 'Choose a conversation.'));
    return;
  }
  const conversation = conversations.get(id) ?? new Conversation(connection, id, { store });
  keep(conversation);
  conversation.open();
  const view = new ConversationView({
    connection, conversation, list, unsent, health, attendance, onBack: () => navigate(null),
  });
  shown = { conversation, view };
  main.replaceChildren(...view.elements);
  view.enter();
}

/** @param {Conversation} conversation */
function keep(conversation) {
  conversations.delete(conversation.id);
  if (conversation.phase !== 'ended') conversations.set(conversation.id, conversation);
  for (const id of conversations.keys()) {
    if (conversations.size <= KEPT) break;
    conversations.delete(id);
  }
}

async function create() {
  const created = await newConversation((fields) => list.create(fields));
  if (created) navigate(created.id);
}

/**
 * What one user held and wrote is nobody else's to see, or to send.
 *
 * @param {string} name
 */
async function forget(name) {
  UnsentTexts.erase(name);
  await MessageStore.erase(name);
}

async function changeUser() {
  const user = connection.user ?? undefined;
  const chosen = await signIn({ user, mayCancel: true });
  if (!chosen || ('user' in chosen && chosen.user === user)) return;
  if (user !== undefined) await forget(user);
  rememberIdentity(chosen);
  location.assign(location.pathname);
}

/** The gateway refused who we said we are: ask again. */
async function askAgain() {
  const { code, reason } = connection.state;
  const refused = code === CloseCode.tokenRefused || code === CloseCode.tokenExpired;
  if (connection.state.phase !== 'closed' || !refused) return;
  forgetToken();
  identity = await signIn({ reason: `The gateway says: ${reason}.`, wantsToken: true });
  if (identity) rememberIdentity(identity);
  connection.open();
}

/**
 * Somebody else signed in after the first one was refused: what is shown, and what waits to be
 * sent, is not theirs.
 *
 * @param {string} name
 */
async function leaveTo(name) {
  const before = user ?? connection.user;
  rememberUser(identity, name);
  if (before !== null) await forget(before);
  location.reload();
}

function drawTitle() {
  const count = list.unreadCount;
  const title = count > 0 ? `(${count}) Gapless` : 'Gapless';
  if (document.title !== title) document.title = title;
}

/** The conversation that the address names. */
function named() { return new URL(location.href).searchParams.get('conversation'); }

async function start() {
  page.dataset.view = named() === null ? 'list' : 'conversation';
  if (identity === null) {
    identity = await signIn();
    if (identity) rememberIdentity(identity);
  }
  list.changed.listen(drawTitle);
  connection.changed.listen(() => { askAgain(); });
  addEventListener('pagehide', () => shown?.view.keepText());
  addEventListener('beforeunload', (event) => {
    // It is kept and sent later, but only if this page is opened again.
    if (outbox.all.some(({ state }) => state === 'sending')) event.preventDefault();
  });
  addEventListener('popstate', () => show(named()));
  list.open();
  connection.open();
  connection.live.listen(() => rememberUser(identity, connection.user ?? ''));
  // Not before: it must not take the way from what is to be read first.
  const stopKeeping = connection.live.listen(() => {
    stopKeeping();
    closeEarly();
    keepForOffline();
  });
  connection.stranger.listen((name) => { leaveTo(name); });
  // Whose messages are one's own must be known before rows are drawn.
  if (user !== null) {
    show(named());
    return;
  }
  const stop = connection.live.listen(() => {
    stop();
    show(named());
  });
}

start();
