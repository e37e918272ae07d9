import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const script = fileURLToPath(new URL('../../../deploy/client-package', import.meta.url));
const surface = fileURLToPath(new URL('whole-surface.ts', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'client-package-'));
const app = join(folder, 'app');

/** An empty project with the package in it, as a tarball brings it. */
before(() => {
  const tarball = execFileSync(script, [join(folder, 'made')], { encoding: 'utf8' }).trim();
  const place = join(app, 'node_modules', '@gapless', 'client');
  mkdirSync(place, { recursive: true });
  execFileSync('tar', ['--extract', '--file', tarball, '--strip-components=1', '-C', place]);
  writeFileSync(join(app, 'package.json'), '{"type": "module"}');
  // React as Debian has it, with its types.
  mkdirSync(join(app, 'node_modules', '@types'));
  for (const name of ['react', '@types/react']) {
    symlinkSync(join('/usr/share/nodejs', name), join(app, 'node_modules', name));
  }
});

after(() => rmSync(folder, { recursive: true }));

test('the package names itself, and its version is that of the gateway', () => {
  const place = join(app, 'node_modules', '@gapless', 'client');
  const { name, version, exports } = JSON.parse(readFileSync(join(place, 'package.json'), 'utf8'));
  const release = new URL('../../../Sources/CRelease/release.c', import.meta.url);
  assert.equal(name, '@gapless/client');
  assert.ok(readFileSync(release, 'utf8').includes(`#define BUILD_VERSION "${version}"`));
  const files = new Set(readdirSync(place));
  for (const path of Object.values(exports).flatMap((entry) => Object.values(entry))) {
    if (path.length > 1) assert.ok(files.has(path.slice(2)), path);
  }
  assert.ok(!files.has('page.js') && !files.has('components'), 'the page is not part of it');
  const types = [...files].filter((file) => file.endsWith('.js') && file !== 'types.js');
  for (const file of types.filter((each) => files.has(each.replace('.js', '.d.ts')))) {
    assert.ok(readFileSync(join(place, file.replace('.js', '.d.ts')), 'utf8').length > 0, file);
  }
});

test('a program finds it by its exports', () => {
  writeFileSync(join(app, 'main.js'), `
    import { ChatClient, findBoundaries, nextLoad, pageByLimit, tombstones } from '@gapless/client';
    console.log([ChatClient, findBoundaries, nextLoad, pageByLimit, tombstones].map((of) => (
      typeof of
    )).join(' '));
  `);
  const said = execFileSync(process.execPath, ['main.js'], { cwd: app, encoding: 'utf8' });
  assert.equal(said.trim(), 'function function function function function');
});

test('one file has all of it, and is as large as clients.md says', async () => {
  const place = join(app, 'node_modules', '@gapless', 'client');
  writeFileSync(join(app, 'one.js'), `
    import * as one from '@gapless/client/gapless.min.js';
    import * as many from '@gapless/client';
    console.log(Object.keys(one).join() === Object.keys(many).join(), typeof one.ChatClient);
  `);
  const said = execFileSync(process.execPath, ['one.js'], { cwd: app, encoding: 'utf8' });
  assert.equal(said.trim(), 'true function');
  const file = readFileSync(join(place, 'gapless.min.js'));
  const modules = readdirSync(place).filter((name) => (
    name.endsWith('.js') && !['gapless.min.js', 'react.js'].includes(name)
  ));
  const sum = modules.reduce((all, name) => all + readFileSync(join(place, name)).length, 0);
  const reference = new URL('../../../deploy/reference/clients.md', import.meta.url);
  const page = readFileSync(reference, 'utf8');
  const [, ...written] = page.match(
    /\| (\d+) KiB in \d+ modules \| (\d+) KiB in one file \| (\d+) KiB compressed/u,
  );
  const sizes = [sum, file.length, gzipSync(file).length];
  sizes.forEach((size, at) => {
    const off = Math.abs(size / 1024 - Number(written[at]));
    assert.ok(off < 0.1 * Number(written[at]), `${size} bytes, not ${written[at]} KiB`);
  });
});

test('and the hooks by theirs, on the React that the app has', () => {
  writeFileSync(join(app, 'react.js'), `
    import * as react from '@gapless/client/react';
    console.log(Object.keys(react).sort().join(' '));
  `);
  const said = execFileSync(process.execPath, ['react.js'], { cwd: app, encoding: 'utf8' });
  assert.equal(said.trim(), 'ChatProvider useChatClient useConnection useConversation '
    + 'useConversations usePresence useUnread');
});

const start = `
  import {
    ChatClient, ChatDataSource, Conversation, ConversationList, History, ManagedMessageList,
    MessageStore, RequestError, applyDelta, findBoundaries, merge, nextLoad,
  } from '@gapless/client';
  import type { ConversationRecord, Draft, Gap, Message, MessageDelta } from '@gapless/client';
  const client = new ChatClient({ url: 'ws://x', credentials: async () => ({ user: 'alice' }) });
`;

const right = `${start}
  let messages: Message[] = [];
  export async function all(store: MessageStore | null, record: ConversationRecord) {
    const page: Message[] = await client.fetchMessages(record, null, 50, 'desc', (cached) => {
      messages = merge(messages, cached);
    });
    messages = merge(messages, page);
    for (const [newest, oldest] of findBoundaries(messages)) console.log(newest.id, oldest.id);
    const stop: () => void = client.subscribeMessages(record.id, (deltas, news) => {
      const gaps: readonly Gap[] = news.gaps;
      const ending: string | null = news.ending;
      if (news.reset) console.log(gaps.length, ending, deltas.length);
    });
    stop();
    const id: string = client.send(record, 'hello', { color: 'red' });
    const waiting: readonly Draft[] = client.outbox.all;
    for await (const { value, isCached } of client.participants(record.id, { limit: 10 })) {
      console.log(value.total, isCached, id, waiting.length);
    }
    const list = new ManagedMessageList(client, record, {
      managedMessageListDidChange(deltas: MessageDelta[], { reset, gaps }) {
        console.log(applyDelta(deltas, messages).length, reset, gaps.length);
      },
      managedMessageListDidEnd(reason: string) { console.log(reason); },
    });
    list.online();
    list.scrollViewDidScroll(0, list.messageCount() - 1);
    await list.edit('m1', 'changed').catch((error: unknown) => {
      if (error instanceof RequestError) console.log(error.code, error.current?.message?.body);
    });
    const history = new History(client, record, { count: 25 });
    const there: boolean = await history.moveTo({ time: '2026-11-20T10:00:00.000Z' });
    const source = new ChatDataSource(client, record.id, { pageSize: 50 });
    source.delegate = { chatDataSourceDidUpdate: (of, type) => console.log(of.chatItems, type) };
    const conversation = new Conversation(client.connection, record.id, { store, limit: 20 });
    const end: () => void = conversation.changed.listen((reason) => console.log(reason));
    for (const item of conversation.items) {
      if (item.kind === 'message') console.log(item.message.seq + 1, item.isHeld);
      if (item.kind === 'gap') console.log(item.gap.missing, item.shownCount);
      if (item.kind === 'draft') console.log(item.draft.state);
    }
    const conversations = new ConversationList(client.connection, { store, isWhole: true });
    console.log(conversations.records[0].unreadCount, there, end, nextLoad);
  }
`;

const rightReact = `${start}
  import { createElement, type ReactElement } from 'react';
  import {
    ChatProvider, useChatClient, useConnection, useConversation, useConversations,
  } from '@gapless/client/react';
  function Room({ id }: { id: string }): ReactElement {
    const room = useConversation(id, { limit: 50 });
    const same = useConversation({ id });
    const { isLive, retryAt, reason } = useConnection();
    const { records, unreadCount, unreadMentions, loadMore } = useConversations();
    const keys: string[] = room.items.map((item) => item.key);
    const gaps: readonly Gap[] = room.gaps;
    const typists: readonly string[] = room.typists;
    if (room.endingReason !== null || room.ending !== null) room.discard(room.send('hello'));
    room.edit('m1', 'other').then(() => room.remove('m1'));
    room.react('m1', 'ok').then(() => room.react('m1', 'ok', false));
    room.send('hello', {}, null, { replyTo: 'm1', mentions: ['bob'], mentionAll: true });
    room.rewrite('m1', 'other', { mentionAll: false });
    room.edit('m1', 'other', { mentions: [] }).then(() => room.loadMention());
    room.fetchMentions({ limit: 20 }).then(({ places, total }) => places[0].seq + total);
    room.fetchReactions('m1', { limit: 20 }).then(({ reactions }) => reactions[0].user);
    room.fill(gaps[0]).then(() => loadMore());
    const text = [same.id, keys, typists, isLive, retryAt, reason, records[0].title, unreadCount, unreadMentions].join();
    return createElement('p', null, text, useChatClient().pubsub.isConnected);
  }
  export const app = createElement(ChatProvider, { client }, createElement(Room, { id: 'ops' }));
`;

const wrong = {
  'a user that is a number': 'new ChatClient({ url: "x", credentials: () => ({ user: 5 }) });',
  'a message without a body': 'client.send("c1");',
  'a method that is not there': 'new History(client, { id: "c1" }).scrollToTop();',
  'a field that is not there': 'client.fetchMessages("c1").then(([first]) => first.text);',
  'an order that is none': 'client.fetchMessages("c1", null, 50, "newest");',
  'an ending that may be none': 'new Conversation(client.connection, "c1").ending.length;',
  'a provider without a client': `
    import { ChatProvider } from '@gapless/client/react';
    ChatProvider({});
  `,
  'an item whose kind nobody looked at': `
    import { useConversation } from '@gapless/client/react';
    export const bodies = () => useConversation('ops').items.map((item) => item.message.body);
  `,
};

test('the program that uses all of it names each export', async () => {
  const index = new URL('../../../Sources/Browser/gapless.js', import.meta.url);
  const exported = Object.keys(await import(index));
  const named = readFileSync(index, 'utf8').matchAll(/@typedef \{import\('[^']*'\)\.(\w+)\}/gu);
  const types = [...named].map(([, name]) => name);
  const words = readFileSync(surface, 'utf8').split(/\W+/u);
  assert.ok(exported.length > 35 && types.length > 10);
  for (const name of [...exported, ...types]) {
    assert.ok(words.filter((word) => word === name).length >= 2, `${name} is used`);
  }
});

/** What tsc says against files, a line each. */
function faultsIn(files, ...more) {
  const flags = ['--strict', '--noEmit', '--target', 'es2022', '--module', 'node16',
    '--moduleResolution', 'node16', '--lib', 'es2022,dom,dom.iterable', '--typeRoots', 'none'];
  try {
    execFileSync('tsc', [...flags, ...more, ...files], { cwd: app, encoding: 'utf8' });
    return [];
  } catch (error) {
    return error.stdout.split('\n').filter((line) => line !== '' && !line.startsWith(' '));
  }
}

test('tsc takes programs that use it all, and refuses those that are wrong', () => {
  writeFileSync(join(app, 'right.ts'), right);
  writeFileSync(join(app, 'react-app.ts'), rightReact);
  const names = Object.keys(wrong);
  names.forEach((name, at) => writeFileSync(join(app, `wrong${at}.ts`), start + wrong[name]));
  const [withReact, plain] = [true, false].map((uses) => (
    names.flatMap((name, at) => (
      wrong[name].includes('/react') === uses ? [`wrong${at}.ts`] : []
    ))
  ));
  // Of React's own types some of Debian's are missing: they are not looked at.
  copyFileSync(surface, join(app, 'whole-surface.ts'));
  const faults = [...faultsIn(['right.ts', 'whole-surface.ts', ...plain]),
    ...faultsIn(['react-app.ts', ...withReact], '--skipLibCheck')];
  const elsewhere = faults.filter((line) => !line.startsWith('wrong'));
  assert.deepEqual(elsewhere, [], 'the right programs, and the types themselves');
  names.forEach((name, at) => {
    assert.equal(faults.filter((line) => line.startsWith(`wrong${at}.ts`)).length, 1, name);
  });
});
