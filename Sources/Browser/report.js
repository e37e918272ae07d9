/** @type {Set<(error: unknown) => void>} */
const listeners = new Set();

/**
 * Tells a listener of each error that the app's code (a listener, a delegate, a callback,
 * `credentials`) threw at the client. Without one the browser reports it (`reportError`).
 *
 * @param {(error: unknown) => void} listener
 * @returns {() => void}  ends it
 */
export function onError(listener) {
  const entry = (/** @type {unknown} */ error) => listener(error);
  listeners.add(entry);
  return () => { listeners.delete(entry); };
}

/**
 * Reports what code of the app threw.
 *
 * @param {unknown} error
 */
export function report(error) {
  if (listeners.size === 0) {
    raise(error);
    return;
  }
  for (const listener of [...listeners]) {
    try {
      listener(error);
    } catch (another) {
      raise(another);
    }
  }
}

/**
 * Calls code of the app: what it throws is reported, and keeps nobody else from being told.
 *
 * @template Result
 * @param {() => Result} call
 * @returns {Result | undefined}
 */
export function guarded(call) {
  try {
    return call();
  } catch (error) {
    report(error);
    return undefined;
  }
}

/** @param {unknown} error */
function raise(error) {
  const { reportError } = /** @type {*} */ (globalThis);
  if (reportError) reportError(error);
  // As an error of an event handler, where there is no other way.
  else queueMicrotask(() => { throw error; });
}
