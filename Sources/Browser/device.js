/**
 * Follows what a device says of its network, and whether somebody looks at the page again.
 *
 * @param {object} told
 * @param {() => void} told.cut  the network went
 * @param {() => void} told.wake  it came back, or somebody looks
 * @param {() => void} [told.freeze]  the browser stops this tab after this
 * @param {*} [scope]  for tests
 * @returns {() => void}  ends it
 */
export function followDevice({ cut, wake, freeze = () => {} }, scope = globalThis) {
  const { document } = scope;
  const seen = () => { if (!document.hidden) wake(); };
  /** @type {[EventTarget | undefined, string, () => void][]} */
  const all = [
    [scope, 'online', wake], [scope, 'offline', cut], [scope, 'pageshow', wake],
    [document, 'visibilitychange', seen], [document, 'resume', wake],
    [document, 'freeze', freeze],
  ];
  for (const [target, name, listener] of all) target?.addEventListener?.(name, listener);
  return () => {
    for (const [target, name, listener] of all) target?.removeEventListener?.(name, listener);
  };
}
