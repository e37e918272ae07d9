/** @import { ConversationRecord, Message } from './types.js' */

/**
 * A request that failed: the `error` of its reply, or `disconnected` where the connection ended
 * before the reply. Then nobody knows whether it was carried out.
 */
export class RequestError extends Error {
  /**
   * @param {object} error
   * @param {string} error.code
   * @param {string} [error.reason]
   * @param {string} error.message
   * @param {'never' | 'later' | 'now'} [error.retry]
   * @param {number} [error.after]  milliseconds
   * @param {{message?: Message, conversation?: ConversationRecord}} [error.current]
   */
  constructor({ code, reason, message, retry = 'never', after, current }) {
    super(message);
    this.name = 'RequestError';
    /** One of the protocol's error codes, or `disconnected`. */
    this.code = code;
    /**
     * Why, for programs: one of the protocol's reasons, `disconnected`, `unanswered`, or one of a
     * newer gateway.
     *
     * @type {string | undefined}
     */
    this.reason = reason;
    /** Whether the same request may succeed later. */
    this.retry = retry;
    /** Milliseconds until it may be tried again, if known. */
    this.after = after;
    /** Of a `conflict`: the value as it is. */
    this.current = current;
  }

  /** The connection ended before the reply. */
  static disconnected() {
    return new RequestError({
      code: 'disconnected', reason: 'disconnected',
      message: 'the connection ended before the reply', retry: 'later',
    });
  }

  /**
   * Whether `error` is one of these with `code`.
   *
   * @param {unknown} error
   * @param {string} code
   */
  static is(error, code) { return error instanceof RequestError && error.code === code; }
}
