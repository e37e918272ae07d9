import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Folding } from '../../../Sources/Page/components/folding.js';
import { listRows } from '../../../Sources/Page/components/rows.js';
import { listItems } from '../../../Sources/Browser/items.js';
import { MessageLog } from '../../../Sources/Browser/message-log.js';
import { MessageWindow } from '../../../Sources/Browser/message-window.js';
import { FakeLog } from './fake-log.mjs';

/** A window on a log of which these places are deleted, and how a list shows it. */
function shown(length, deleted, { gaps = [] } = {}) {
  const log = new FakeLog(length);
  for (const seq of deleted) log.delete(seq);
  const messages = new MessageLog();
  const view = new MessageWindow(messages);
  messages.subscribed(log.answer({ method: 'subscribeMessages', params: { limit: 100 } }), false);
  const { head } = log;
  if (gaps.length > 0) {
    messages.event({ event: 'gap', conversation: 'c1', gaps, prev: head.rev, asOf: head.rev, head });
  }
  const folding = new Folding('alice');
  const items = () => folding.fold(listItems({
    values: view.values, gaps: view.gaps, drafts: [], user: 'alice',
  }), view);
  const outline = () => items().map((item) => {
    if (item.kind === 'fold') return item.messages.map(({ seq }) => seq);
    if (item.kind === 'gap') return 'gap';
    return item.canFold ? `${item.message.seq} can fold` : item.message.seq;
  });
  return { log, messages, folding, items, outline };
}

test('deleted messages that stand together are one row until they are revealed', () => {
  const { folding, outline } = shown(8, [2, 4, 5, 6]);
  assert.deepEqual(outline(), [1, 2, 3, [4, 5, 6], 7, 8]);
  folding.reveal('m5');
  assert.deepEqual(outline(), [1, 2, 3, '4 can fold', 5, 6, 7, 8]);
  folding.hide('m4');
  assert.deepEqual(outline(), [1, 2, 3, [4, 5, 6], 7, 8]);
});

test('what is deleted beside a revealed group joins it only when it is folded', () => {
  const { log, messages, folding, outline } = shown(8, [4, 5]);
  assert.deepEqual(outline()[3], [4, 5]);
  folding.reveal('m4');
  messages.event(log.delete(3));
  assert.deepEqual(outline(), [1, 2, 3, '4 can fold', 5, 6, 7, 8]);
  folding.hide('m5');
  assert.deepEqual(outline(), [1, 2, [3, 4, 5], 6, 7, 8]);
});

test('a hole parts a group', () => {
  const gap = { after: 3, before: 6, missing: 2, cause: 'slow', since: '' };
  const { outline } = shown(8, [2, 3, 6, 7], { gaps: [gap] });
  assert.deepEqual(outline().filter((item) => item !== 4 && item !== 5), [
    1, [2, 3], 'gap', [6, 7], 8,
  ]);
});

test('the line above what is unread stands above a group with something unread in it', () => {
  const { items } = shown(8, [4, 5, 6]);
  const kinds = listRows(items(), { dayOf: () => 'day', user: 'alice', unreadAfter: 5 })
    .map((row) => (row.kind === 'item' ? row.item.kind : row.kind));
  assert.deepEqual(kinds, [
    'day', 'message', 'message', 'message', 'unread', 'fold', 'message', 'message',
  ]);
});
