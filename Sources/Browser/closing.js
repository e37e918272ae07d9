/**
 * Why a connection ended: the table of close codes of the protocol, in the words that a person is
 * shown. 3000–3499 may come back, 3500–3999 may not; whatever the network does may come back.
 */

/** @type {ReadonlyMap<number, string>} */
const reasons = new Map([
  [1000, 'closed'],
  [1001, 'the gateway went away'],
  [1002, 'broken frames'],
  [1006, 'the connection broke'],
  [1007, 'invalid UTF-8'],
  [1009, 'a frame was too large'],
  [3000, 'the gateway is draining'],
  [3001, 'the token expired'],
  [3002, 'this client fell too far behind'],
  [3003, 'no answer to a ping'],
  [3004, 'too many connections'],
  [3500, 'the token was refused'],
  [3501, 'protocol violation'],
  [3502, 'disconnected by the server'],
]);

/** Close codes that a client treats by name. */
export const CloseCode = Object.freeze({
  broken: 1006,
  draining: 3000,
  tokenExpired: 3001,
  connectionLimit: 3004,
  tokenRefused: 3500,
  protocolViolation: 3501,
});

/**
 * Whether a client closed with `code` may connect again.
 *
 * @param {number} code
 */
export function mayComeBack(code) { return code < 3500 || code > 3999; }

/** A gateway that sees a violation closes at once; one that hears nothing waits for longer. */
const VIOLATION_DELAY = 1_000;

/**
 * What it means that a gateway closed a try, `age` milliseconds after it began. `connect` is the
 * first request of every try: where 3501 comes late, the network kept it from the gateway for
 * longer than `limits.connect_timeout`, and that is no reason to stay away.
 *
 * @param {number} code
 * @param {number} age
 */
export function codeOfTry(code, age) {
  const isLate = code === CloseCode.protocolViolation && age >= VIOLATION_DELAY;
  return isLate ? CloseCode.broken : code;
}

/**
 * The text for people about a close with `code`.
 *
 * @param {number} code
 */
export function closeReason(code) { return reasons.get(code) ?? `closed with code ${code}`; }
