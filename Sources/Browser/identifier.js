const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/**
 * A new message id: 26 characters, the moment first and then 80 random bits, so that ids of one
 * author sort by time.
 *
 * @param {number} [now]  milliseconds since 1970
 */
export function newIdentifier(now = Date.now()) {
  let time = '';
  for (let rest = now, digit = 0; digit < 10; digit += 1, rest = Math.floor(rest / 32)) {
    time = ALPHABET[rest % 32] + time;
  }
  const random = crypto.getRandomValues(new Uint8Array(16));
  return time + Array.from(random, (byte) => ALPHABET[byte % 32]).join('');
}
