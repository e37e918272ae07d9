import { pageByLimit } from '../../../Sources/Browser/timeline-page.js';

/** Numbers, ranges and objects of a vector, one by one. */
function each(list) {
  return list.flatMap((item) => {
    if (!Array.isArray(item)) return [item];
    return Array.from({ length: item[1] - item[0] + 1 }, (_, at) => item[0] + at);
  });
}

/** A message in one of the short forms of the vector files. */
export function message(item) {
  const given = typeof item === 'number' ? { id: String(item) } : item;
  const own = /^\d+$/u.test(given.id) ? Number(given.id) : undefined;
  const number = given.seq ?? own;
  const seq = given.seq === null ? undefined : number;
  const second = given.at ?? number ?? 0;
  return {
    id: given.id,
    conversation: given.conversation ?? 'c',
    ...(seq !== undefined && { seq, rev: given.rev ?? seq }),
    author: given.author ?? 'alice',
    body: given.deleted ? undefined : given.body,
    createdAt: new Date(second * 1000).toISOString(),
    editedAt: null,
    deleted: given.deleted ?? false,
  };
}

export const messages = (list) => each(list).map(message);

function page({ items, limit, cached, anchor, ...rest }) {
  const given = {
    conversation: 'c', ...rest, messages: messages(items),
    ...(cached && { isCached: true }), ...(anchor !== undefined && { anchor }),
  };
  return limit === undefined ? given : pageByLimit({ ...given, limit });
}

/** Gives a timeline one step of a vector; returns the changes, if the step has any. */
export function takeStep(timeline, step) {
  if (step.page) return timeline.apply(page(step.page), step.visible);
  if (step.deltas) {
    const deltas = each(step.deltas).map((item) => ({
      type: item.type ?? 'inserted', via: item.via, message: message(item),
    }));
    const { covers, lost: gaps, head, floor } = step;
    return timeline.applyDeltas(deltas, { covers, gaps, head, floor });
  }
  if (step.show) return timeline.show(messages(step.show));
  if (step.hide) return timeline.hide(step.hide);
  if (step.trimTo) return timeline.trimTo(step.trimTo, step.focus);
  if (step.read !== undefined) {
    return timeline.setRead(step.read, step.unreadCount);
  }
  if (step.view !== undefined) timeline.viewPassed(step.view);
  return step.reset ? timeline.reset() : undefined;
}

/** The ids that a view shows which carries out `changes`, as lists of rows do. */
export function carriedOut(ids, { inserted, deleted, moved }) {
  const leaving = new Set([...deleted.map(({ index }) => index), ...moved.map(({ from }) => from)]);
  const shown = ids.filter((_, at) => !leaving.has(at));
  const coming = [...inserted, ...moved.map(({ id, to }) => ({ id, index: to }))];
  for (const { id, index } of coming.sort((a, b) => a.index - b.index)) shown.splice(index, 0, id);
  return shown;
}
