/**
 * Faults that are planted in the client, one at a time, to see that the random worlds find them: in
 * loading, merging and subscribing (`faces-properties.test.mjs`), and between tabs
 * (`tabs.test.mjs`).
 *
 * @type {{name: string, world: string, file: string, from: string, to: string}[]}
 */
export const mutations = [
  {
    name: 'loading: a page is asked for from one place beyond the hole',
    world: 'faces-properties', file: 'loading.js',
    from: '...(!isHistory && { after: low - 1 }),',
    to: '...(!isHistory && { after: low }),',
  },
  {
    name: 'loading: scrolling down looks only at the newest hole, and not if it is the end',
    world: 'faces-properties', file: 'loading.js',
    from: 'return missing.runs.find(([, high]) => high >= first)',
    to: 'return missing.runs.find(([low, high]) => high >= first && runs.contains(low - 1)'
      + ' && runs.contains(high + 1))',
  },
  {
    name: 'merging: the edit that follows at once does not replace',
    world: 'faces-properties', file: 'holder.js',
    from: 'if (!held || message.rev >= held.rev) this',
    to: 'if (!held || message.rev > held.rev + 1) this',
  },
  {
    name: 'merging: what is held keeps its first value',
    world: 'faces-properties', file: 'holder.js',
    from: 'if (!held || message.rev >= held.rev) this', to: 'if (!held) this',
  },
  {
    name: 'merging: what was trimmed stays',
    world: 'faces-properties', file: 'holder.js',
    from: 'const floor = Math.max(this.#head?.floor ?? 1, head.floor);',
    to: 'const floor = this.#head?.floor ?? 1;',
  },
  {
    name: 'subscribing: the first view to close ends it for all',
    world: 'faces-properties', file: 'conversation-log.js',
    from: '    if (this.#views.size > 0) return;\n    this.#subscription.close();',
    to: '    this.#subscription.close();',
  },
  {
    name: 'subscribing: the answer says that the log is another one, and nobody listens',
    world: 'faces-properties', file: 'message-log.js',
    from: 'if (!resumed || result.reset || this.#isForeign(result.head)) this.forget();',
    to: 'if (!resumed || this.#isForeign(result.head)) this.forget();',
  },
  {
    name: 'subscribing: a new session is not subscribed in',
    world: 'faces-properties', file: 'subscription.js',
    from: 'if (this.#session !== this.#connection.session) this.begin();',
    to: 'if (this.#session === 0) this.begin();',
  },
  {
    name: 'subscribing: what was shown and is not in the answer stays',
    world: 'faces-properties', file: 'holder.js',
    from: 'const isRefuted = this.#runs.contains(seq) || seq > end;',
    to: 'const isRefuted = false;',
  },
  {
    name: 'subscribing: a draft goes although its message has no place in the list',
    world: 'faces-properties', file: 'outbox.js',
    from: '&& !log.messages.hasRoomFor(message);', to: '&& false;',
  },
  {
    name: 'subscribing: an answer of another log, while nobody follows, is believed of this one',
    world: 'faces-properties', file: 'outbox.js',
    from: "if (kind === 'send') log?.meets(message);", to: '',
  },
  {
    name: 'tabs: the first to unsubscribe ends it for all',
    world: 'tabs', file: 'tab-hub.js',
    from: 'return !this.#subscribed.has(subject);',
    to: 'return true;',
  },
  {
    name: 'tabs: drafts of a tab that is there are taken from it',
    world: 'tabs', file: 'drafts.js',
    from: 'this.#whenGone(tabs, owner, signal, async () => {',
    to: 'Promise.resolve().then(async () => {',
  },
  {
    name: 'tabs: drafts of a tab that is gone are left',
    world: 'tabs', file: 'drafts.js',
    from: 'tabs.gone.listen(adopt);', to: '',
  },
  {
    name: 'tabs: a leader that is loaded anew serves its earlier self',
    world: 'tabs', file: 'leading.js',
    from: 'if (from === this.#tab) return;', to: '',
  },
  {
    name: 'tabs: a frozen leader answers, and its socket is deaf',
    world: 'tabs', file: 'shared-connection.js',
    from: 'this.#environment.task(() => this.#leading?.serve(message));',
    to: 'this.#leading.serve(message);',
  },
  {
    name: 'mishaps: a listener that throws keeps the others from being told',
    world: 'faces-properties', file: 'signal.js',
    from: 'guarded(() => entry.listener(news));', to: 'entry.listener(news);',
  },
  {
    name: 'mishaps: a text that no frame holds is queued',
    world: 'faces-properties', file: 'outbox.js',
    from: 'const refusal = this.#check(written);', to: 'const refusal = null;',
  },
  {
    name: 'mishaps: half a character is queued',
    world: 'faces-properties', file: 'outbox.js',
    from: "if (refusal?.code === 'bad_request') throw refusal;", to: '',
  },
];
