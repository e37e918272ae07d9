import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ChatDataSource } from '../../../Sources/Browser/chat-data-source.js';
import { History } from '../../../Sources/Browser/history.js';
import { ManagedMessageList } from '../../../Sources/Browser/managed-message-list.js';
import { settled } from './fake-gateway.mjs';
import { connected, FakeLog, outage } from './fake-log.mjs';
import { vectors } from './vectors.mjs';

/** How each face is opened, walked and read; `tell` is told how it ended. */
const faces = {
  list(client, log, count, tell, { syncOnReconnect = true, subscribeNewMessages = true }) {
    const list = new ManagedMessageList(client, { id: 'c1' }, {
      managedMessageListDidChange: () => {}, managedMessageListDidEnd: tell,
    });
    Object.assign(list, { fetchLimit: count, syncOnReconnect, subscribeNewMessages });
    return {
      face: list, open: () => list.online(), close: () => list.offline(),
      top: () => list.scrollViewDidReachTop(), bottom: () => list.scrollViewDidReachBottom(),
      rows: () => Array.from({ length: list.messageCount() }, (_, at) => list.messageAt(at)),
      hasMore: () => list.hasMore,
    };
  },
  history(client, log, count, tell) {
    const history = new History(client, log.record, { count });
    history.delegate = {
      historyDidChange: () => {}, historyMoveTo: () => {},
      historyDidEnd: (reason) => tell(reason),
    };
    return {
      face: history, open: () => history.open(), close: () => history.close(),
      top: () => history.scrolledToTop(), bottom: () => history.scrolledToBottom(),
      jump: (seq) => history.moveTo(`m${seq}`), rows: () => history.messages,
      hasMore: () => history.hasMore,
      banner: () => Number(history.unreadBannerAfter?.slice(1) ?? 0),
    };
  },
  source(client, log, count, tell) {
    let source = null;
    return {
      get face() { return source; },
      open() {
        source = new ChatDataSource(client, 'c1', { pageSize: count });
        source.delegate = {
          chatDataSourceDidUpdate: () => {}, chatDataSourceDidEnd: (reason) => tell(reason),
        };
      },
      close: () => source.close(),
      top: () => source.loadPrevious(), bottom: () => source.loadNext(),
      rows: () => source.chatItems.map(({ message }) => message),
      hasMore: () => ({ before: source.hasMorePrevious, after: source.hasMoreNext }),
    };
  },
};

/** Places as runs. */
function runsOf(seqs) {
  const runs = [];
  for (const seq of seqs) {
    if (runs.at(-1)?.[1] === seq - 1) runs.at(-1)[1] = seq; else runs.push([seq, seq]);
  }
  return runs;
}

/** Gaps, those that are neighbours as one. */
function holesOf(gaps) {
  const holes = [];
  for (const { after, before } of gaps) {
    if (holes.at(-1)?.[1] === after + 1) holes.at(-1)[1] = before; else holes.push([after, before]);
  }
  return holes;
}

/** What happens to the log; the events of it. */
function change(log, { say = 0, edit = [], delete: deleted = [], rewind }) {
  if (rewind !== undefined) log.rewind(rewind);
  return [
    ...Array.from({ length: say }, () => log.say()),
    ...edit.map((seq) => log.edit(seq, 'edited')), ...deleted.map((seq) => log.delete(seq)),
  ];
}

async function play(step, log, played, view) {
  const socket = played.sockets.at(-1);
  for (let times = step.do ? step.times ?? 1 : 0; times > 0; times -= 1) {
    view[step.do](step.to);
    for (let n = 0; n < 4; n += 1) await settled();
  }
  if (step.refuse) {
    log.refuses = ({ method }) => (/(subscribe|fetch)Messages/u.test(method) ? step.refuse : null);
  }
  if (step.end) {
    socket.frame({ event: 'unsubscribed', conversation: 'c1', reason: step.end });
  } else if (step.outage) await outage(played, () => change(log, step.outage));
  else if (!step.do) for (const event of change(log, step)) socket.frame(event);
  for (let n = 0; n < 8; n += 1) await settled();
}

for (const { name, face, log: made, count, steps, ...options } of vectors('faces')) {
  test(`face: ${name}`, async (context) => {
    context.mock?.method(console, 'warn', () => {});
    const log = Object.assign(new FakeLog(made.messages), { lastReadSeq: made.read });
    const played = await connected(log);
    let told = null;
    const tell = (reason) => { told = reason; };
    const view = faces[face](played.client, log, count, tell, options);
    for (const [at, step] of steps.entries()) {
      await play(step, log, played, view);
      const { rows, gaps, hasMore, banner, edited = [], deleted = [], ending } = step;
      const where = `step ${at}, ${JSON.stringify(step)}`;
      const shown = view.face ? view.rows() : [];
      if (rows) assert.deepEqual(runsOf(shown.map(({ seq }) => seq)), rows, where);
      if (gaps) assert.deepEqual(holesOf(view.face.gaps), gaps, where);
      if (hasMore) assert.deepEqual(view.hasMore(), hasMore, where);
      if (banner) assert.equal(view.banner(), banner, where);
      const rowAt = (place) => shown.find(({ seq }) => seq === place);
      for (const seq of edited) assert.equal(rowAt(seq).body, 'edited', where);
      for (const seq of deleted) assert.equal(rowAt(seq).deleted, true, where);
      if (ending) assert.equal(view.face.ending, ending, where);
      if (step.told) assert.equal(told, step.told, where);
    }
  });
}
