/**
 * The operator's page: what the gateway says of itself once a second, and a box that asks it what
 * became of a message. It asks nobody else.
 */

import { Plots, count, rate, seconds } from './plots.js';
import { bar, button, fill } from './tables.js';

const QUIET = 5000;
const AGAIN = 10_000;

const GAP_CAUSES = {
  upstream: 'the origin was away, or did not answer',
  cache: 'the cache could not keep it',
  trimmed: 'the origin keeps it no longer',
};
const GAP_STATES = {
  queued: 'will be asked for',
  fetching: 'is being fetched',
  waiting: 'waits for the origin, then is fetched',
  gave_up: 'the origin did not answer many times: tried again every now and then',
};
const STATES = {
  ok: 'ok: nothing is amiss', degraded: 'degraded: it serves, and something is amiss',
  down: 'down: not ready',
};

const part = id => document.getElementById(id);
const plots = new Plots(part('plots'));
let heard = 0;
let source;

function listen() {
  source = new EventSource('events');
  source.addEventListener('hour', event => plots.begin(JSON.parse(event.data)));
  source.addEventListener('point', event => plots.add(JSON.parse(event.data)));
  source.addEventListener('now', event => {
    heard = Date.now();
    show(JSON.parse(event.data));
    tellSilence();
  });
  source.addEventListener('error', () => {
    // Refused, and not merely interrupted: the browser does not try again by itself.
    if (source.readyState === EventSource.CLOSED) setTimeout(listen, AGAIN);
    tellSilence();
  });
}

/** Says so where nothing was heard for a while: what is shown is old then. */
function tellSilence() {
  const isRefused = source.readyState === EventSource.CLOSED;
  const isSilent = isRefused || Date.now() - heard > QUIET;
  const since = heard > 0 ? `since ${clock(new Date(heard))}` : 'yet';
  const line = isRefused
    ? `The gateway does not send to this page: eight others watch, or it wants the password.`
      + ` What is shown was not renewed ${since}; tried again every 10 s.`
    : `Nothing was heard of the gateway ${since}. Does it run, and can this page reach it?`;
  const place = part('silence');
  if (isSilent && place.textContent !== line) place.textContent = line;
  place.hidden = !isSilent;
  if (isSilent && heard > 0) {
    // What it was is no more than that.
    part('status').dataset.status = 'waiting';
    part('status').textContent = `not known since ${clock(new Date(heard))}`;
    document.title = 'not known: Gapless, inside';
  }
  document.body.classList.toggle('stale', isSilent && heard > 0);
}

function clock(date) {
  return date.toLocaleTimeString('en-GB');
}

function size(bytes) {
  if (bytes < 10_000) return `${bytes} B`;
  return bytes < 10 << 20 ? `${Math.round(bytes / 1024)} KiB` : `${Math.round(bytes / 1048576)} MiB`;
}

function several(number, word) {
  return `${count(number)} ${word}${number === 1 ? '' : 's'}`;
}

function show(state) {
  const now = Date.parse(state.at);
  showHead(state);
  showUpstream(state.upstream, now);
  showGaps(state.gaps, now);
  fill(part('limits'), state.limits.map(limit => {
    const share = limit.limit > 0 ? limit.used / limit.limit : 0;
    const isNear = share >= 0.7;
    return {
      key: limit.name,
      cells: [
        limit.key ? `${limit.name} (${limit.key})` : limit.name, amount(limit, limit.used),
        limit.limit > 0 ? amount(limit, limit.limit) : 'no limit',
        limit.limit > 0
          ? bar(limit.used, limit.limit, `${limit.name}: ${Math.round(share * 100)} %`) : '',
        { text: isNear ? limit.remedy : '', tone: share >= 0.9 ? 'bad' : 'busy' },
      ],
    };
  }));
  fill(part('busiest'), state.busiest.map(one => ({
    key: one.conversation,
    cells: [
      asked(one.conversation), count(one.watchers), rate(one.rate), count(one.written),
      count(one.coalesced),
    ],
  })));
  showReaders(state);
  const books = state.accounting;
  part('accounting').textContent =
    `${count(books.accepted)} deltas were put before somebody: ${count(books.written)} written, `
    + `${count(books.coalesced)} told as gaps, ${count(books.discarded)} dropped with their `
    + `connections, ${count(books.queued)} wait. `
    + (books.error === 0 ? 'It balances.' : `${count(books.error)} are not accounted for.`);
  part('accounting').dataset.tone = books.error === 0 ? '' : 'bad';
  fill(part('notices'), state.notices.map(notice => ({
    key: `${notice.code} ${notice.detail}`,
    cells: [
      clock(new Date(notice.at)),
      {
        text: `${notice.level}: ${notice.what}`
          + (notice.count > 1 ? ` (${notice.count} times)` : '')
          + (notice.detail ? `: ${notice.detail}` : ''),
        tone: { error: 'bad', warning: 'busy' }[notice.level],
      },
      notice.remedy,
    ],
  })));
  letScroll();
}

/** What is wider than its place can be scrolled by the keyboard; nothing else is a stop of it. */
function letScroll() {
  for (const section of document.querySelectorAll('main section')) {
    if (section.scrollWidth > section.clientWidth) section.tabIndex = 0;
    else section.removeAttribute('tabindex');
  }
}

function amount(limit, value) {
  return limit.key.includes('outbox') ? size(value)
    : limit.limit <= 1 ? `${Math.round(value * 100)} %` : count(value);
}

/** A conversation's id that goes into the box below. */
function asked(conversation) {
  return button(conversation, 'Explain a message of this conversation');
}

function showHead(state) {
  const status = part('status');
  const text = STATES[state.status] ?? state.status;
  if (status.textContent !== text) status.textContent = text;
  status.dataset.status = state.status;
  document.title = state.status === 'ok' ? 'Gapless, inside' : `${state.status}: Gapless, inside`;
  part('process').textContent =
    `version ${state.version}, up ${seconds(state.uptime)}, `
    + `${several(state.clients.connections, 'connection')}, `
    + `${several(state.clients.subscriptions, 'subscription')}, `
    + `${several(state.clients.conversations, 'conversation')} in memory, `
    + `${size(state.process.residentBytes)} resident, `
    + `${several(state.process.cachedMessages, 'message')} in a file of `
    + `${size(state.process.cacheBytes)}, ${state.ready ? 'ready' : 'not ready'}`;
  const troubles = part('troubles');
  troubles.hidden = state.troubles.length === 0;
  troubles.dataset.status = state.status;
  const told = JSON.stringify(state.troubles);
  if (troubles.dataset.told === told) return;
  troubles.dataset.told = told;
  troubles.firstElementChild.replaceChildren(...state.troubles.map(({ what, remedy }) => {
    const item = document.createElement('li');
    const strong = item.appendChild(document.createElement('strong'));
    strong.textContent = what;
    item.append(remedy);
    return item;
  }));
}

function showUpstream(upstream, now) {
  const age = (now - Date.parse(upstream.since)) / 1000;
  const line = part('upstream');
  line.textContent = `${upstream.kind}: ${upstream.state} for ${seconds(Math.max(0, age))}`;
  line.dataset.tone = { online: 'good', syncing: 'busy', offline: 'bad' }[upstream.state];
  const { feed, reads, writes } = upstream;
  const times = pair => pair
    ? `half within ${seconds(pair[0])}, 99 of 100 within ${seconds(pair[1])}` : 'none lately';
  const last = feed.lastEventAge === null ? 'nothing told yet'
    : `told last ${seconds(feed.lastEventAge)} ago`;
  fill(part('links'), [
    {
      key: 'feed',
      cells: [
        'feed', feed.live ? { text: `live, ${last}`, tone: 'good' }
          : { text: `broken for ${seconds(feed.offlineFor)}, ${last}`, tone: 'bad' },
        `to sockets: ${times(feed.lag)}`, '',
      ],
    },
    {
      key: 'reads',
      cells: [
        'reads', `${count(reads.fetching)} under way, ${count(reads.queued)} queued`,
        times(reads.times), reads.failed > 0
          ? { text: `${rate(reads.failed)} a second`, tone: 'bad' } : 'none',
      ],
    },
    {
      key: 'writes',
      cells: [
        'writes', '', times(writes.times), writes.refused > 0
          ? { text: `${count(writes.refused)} refused by the server`, tone: 'busy' } : 'none',
      ],
    },
  ]);
}

function showGaps(gaps, now) {
  part('gaps-summary').textContent = gaps.open === 0 ? 'Nothing is missing.'
    : `${count(gaps.open)} open, ${count(gaps.missing)} messages, the oldest for `
      + `${seconds(gaps.oldest)}`
      + (gaps.open > gaps.list.length ? `; the oldest ${gaps.list.length}:` : ':');
  fill(part('gaps'), gaps.list.map(gap => ({
    key: `${gap.conversation} ${gap.after} ${gap.before}`,
    cells: [
      asked(gap.conversation),
      `${gap.missing === null ? 'some' : count(gap.missing)}, after ${gap.after}`,
      seconds(Math.max(0, (now - Date.parse(gap.since)) / 1000)),
      GAP_CAUSES[gap.cause] ?? gap.cause,
      { text: GAP_STATES[gap.state] ?? gap.state, tone: gap.state === 'gave_up' ? 'bad' : '' },
    ],
  })));
}

function showReaders(state) {
  const { blocked, waitingBytes, shed } = state.clients;
  part('slowest-summary').textContent =
    `${count(blocked)} take nothing now, ${size(waitingBytes)} wait for all together; what waited `
    + `was told as a gap instead ${count(shed)} times since the start.`;
  fill(part('slowest'), state.slowest.map(reader => ({
    key: reader.session,
    cells: [
      reader.user, reader.session, size(reader.waiting),
      reader.blocked ? { text: 'takes nothing', tone: 'busy' } : 'takes what it is sent',
      count(reader.coalesced),
    ],
  })));
}

async function explain(form) {
  const { conversation, message, user } = Object.fromEntries(new FormData(form));
  const query = new URLSearchParams({ conversation, format: 'text' });
  // What looks like a number is a place, unless no message stands there.
  query.set(/^\d{1,15}$/.test(message) ? 'seq' : 'id', message);
  if (user) query.set('user', user);
  const answer = part('answer');
  answer.hidden = false;
  answer.textContent = 'asking…';
  try {
    const response = await fetch(`explain?${query}`);
    const text = await response.text();
    answer.textContent = response.ok ? text : JSON.parse(text).error.message;
  } catch (error) {
    answer.textContent = `The gateway did not answer (${error.message}).`;
  }
}

part('question').addEventListener('submit', event => {
  event.preventDefault();
  explain(event.target);
});
document.addEventListener('click', event => {
  const pressed = event.target.closest?.('td button');
  if (!pressed) return;
  const form = part('question');
  form.elements.conversation.value = pressed.textContent;
  form.elements.message.focus();
});
addEventListener('resize', letScroll);
setInterval(tellSilence, 1000);
listen();
