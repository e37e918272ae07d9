import { RequestError } from './request-error.js';

/**
 * What the gateway says of its limits, as far as a client holds to them by itself.
 *
 * @typedef {{inbound_frame?: number}} Limits
 */

/** Half of a surrogate pair, as JSON escapes it; behind an escaped backslash it is text. */
const HALF = /[^\\](?:\\\\)*\\ud[89a-f][0-9a-f]{2}/u;

/**
 * A request as it is sent. The gateway closes the connection for a frame that is too large, so that
 * one would come back and be closed for ever; and it can't answer what is no JSON by its id.
 *
 * @param {{id: number, method: string, params: object}} request
 * @param {Limits | null} limits  null where the gateway has not named them
 * @returns {string}
 * @throws {RequestError}  `bad_request` or `too_large`
 */
export function encoded(request, limits) {
  let text;
  try {
    text = JSON.stringify(request);
  } catch (error) {
    throw refused('bad_request', 'malformed', `this can't be encoded: ${/** @type {Error} */ (error).message}`);
  }
  if (HALF.test(text)) {
    throw refused(
      'bad_request', 'malformed', 'a text holds half of a surrogate pair, which is no character');
  }
  const most = limits?.inbound_frame ?? Infinity;
  if (sizeOf(text, most) > most) {
    throw refused(
      'too_large', 'limit_inbound_frame',
      `this is larger than limits.inbound_frame (${most} bytes)`);
  }
  return text;
}

/**
 * Why a request would not be sent; null where nothing speaks against it.
 *
 * @param {string} method
 * @param {object} params
 * @param {Limits | null} limits
 * @returns {RequestError | null}
 */
export function refusalBeforeSending(method, params, limits) {
  try {
    encoded({ id: 1, method, params }, limits);
    return null;
  } catch (error) {
    return /** @type {RequestError} */ (error);
  }
}

/**
 * A value as it arrives where it is sent: a copy of its own, without what JSON has no word for.
 * What can't be encoded stays as it is, and is refused as it is sent.
 *
 * @template Value
 * @param {Value} value
 * @returns {Value}
 */
export function asSent(value) {
  try {
    return JSON.parse(JSON.stringify(value));
  } catch {
    return value;
  }
}

/**
 * The bytes of a text; only its length where that decides.
 *
 * @param {string} text
 * @param {number} most
 */
function sizeOf(text, most) {
  const isClear = text.length > most || text.length * 3 <= most;
  return isClear ? text.length : new TextEncoder().encode(text).length;
}

/**
 * @param {string} code
 * @param {string} reason
 * @param {string} message
 */
function refused(code, reason, message) {
  return new RequestError({ code, reason, message, retry: 'never' });
}
