/**
 * Who uses the page. `?user=` and `?token=` in the address win, a token over somebody else only
 * when they agree; a name is remembered by the browser, a token only until the tab is closed. A
 * token is taken out of the address at once: addresses are copied, shared and kept in histories.
 */

const USER = 'gapless.user';
const TOKEN = 'gapless.token';
const TOKEN_USER = 'gapless.token.user';
/** Who signed in by a token last, in any tab. */
const LAST = 'gapless.last';
/** All who signed in by a token here: what it brought is not shown to who only names them. */
const BY_TOKEN = 'gapless.token.users';

/**
 * Takes a token out of the address.
 *
 * @returns {{token: string, user: string | null, before: string | null} | null}  whose it says that
 *   it is, and who used the page before, as far as either is known; null if there is no token
 */
export function takeGivenToken() {
  const address = new URL(location.href);
  const token = address.searchParams.get('token');
  if (!token) return null;
  address.searchParams.delete('token');
  history.replaceState(history.state, '', address);
  const before = localStorage.getItem(LAST) ?? localStorage.getItem(USER);
  return { token, user: subjectOf(token), before };
}

/**
 * Whom a token names. It is not verified here: the gateway does that.
 *
 * @param {string} token
 * @returns {string | null}
 */
function subjectOf(token) {
  try {
    const [, part] = token.split('.');
    const bytes = atob(part.replaceAll('-', '+').replaceAll('_', '/'));
    const text = new TextDecoder().decode(Uint8Array.from(bytes, (byte) => byte.charCodeAt(0)));
    const { sub } = JSON.parse(text);
    return typeof sub === 'string' ? sub : null;
  } catch {
    return null;
  }
}

/**
 * @returns {{user: string} | {token: string} | null}
 */
export function knownIdentity() {
  const user = new URL(location.href).searchParams.get('user');
  const token = user ? null : sessionStorage.getItem(TOKEN);
  if (token) return { token };
  const name = user ?? localStorage.getItem(USER);
  return name ? { user: name } : null;
}

/**
 * Remembers who was chosen.
 *
 * @param {{user: string} | {token: string}} identity
 */
export function rememberIdentity(identity) {
  if ('token' in identity) {
    sessionStorage.setItem(TOKEN, identity.token);
  } else {
    sessionStorage.removeItem(TOKEN);
    localStorage.setItem(USER, identity.user);
  }
  const address = new URL(location.href);
  address.searchParams.delete('user');
  history.replaceState(history.state, '', address);
}

/**
 * The user's name, where it is known before the gateway has said it, and what was kept for them may
 * be shown.
 *
 * @param {{user: string} | {token: string} | null} identity
 */
export function expectedUser(identity) {
  if (identity === null) return null;
  // What a token brought opens with a token only: a name proves nothing.
  if ('user' in identity) return usersByToken().includes(identity.user) ? null : identity.user;
  const [token, user] = JSON.parse(sessionStorage.getItem(TOKEN_USER) ?? '[]');
  return token === identity.token ? user : null;
}

/**
 * Remembers whose the token is, for the next time that the page is loaded in this tab.
 *
 * @param {{user: string} | {token: string} | null} identity
 * @param {string} user
 */
export function rememberUser(identity, user) {
  if (identity === null || 'user' in identity) return;
  sessionStorage.setItem(TOKEN_USER, JSON.stringify([identity.token, user]));
  localStorage.setItem(LAST, user);
  const known = usersByToken();
  if (!known.includes(user)) localStorage.setItem(BY_TOKEN, JSON.stringify([...known, user]));
}

/** @returns {string[]} */
function usersByToken() { return JSON.parse(localStorage.getItem(BY_TOKEN) ?? '[]'); }

/** The token was refused or ran out. */
export function forgetToken() {
  sessionStorage.removeItem(TOKEN);
  sessionStorage.removeItem(TOKEN_USER);
}
