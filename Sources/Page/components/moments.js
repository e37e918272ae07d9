/** Moments in the reader's own language and time zone. */

/** @param {Intl.DateTimeFormatOptions} options */
const format = (options) => new Intl.DateTimeFormat(undefined, options);

const clock = format({ hour: '2-digit', minute: '2-digit' });
const full = format({ dateStyle: 'full', timeStyle: 'medium' });
const weekday = format({ weekday: 'long' });
const shortWeekday = format({ weekday: 'short' });
const dayOfYear = format({ weekday: 'long', day: 'numeric', month: 'long' });
const dayOfAnyYear = format({ day: 'numeric', month: 'long', year: 'numeric' });
const shortDay = format({ day: 'numeric', month: 'short' });
const shortDate = format({ day: 'numeric', month: 'short', year: 'numeric' });
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto' });

/**
 * How many days lie between a moment's day and today.
 *
 * @param {Date} date
 */
function daysAgo(date) {
  // Rounded, because a day is an hour shorter or longer twice a year.
  return Math.round((midnight(new Date()) - midnight(date)) / 86_400_000);
}

/**
 * When a moment's day began, in milliseconds since 1970.
 *
 * @param {Date} of
 */
function midnight(of) {
  return new Date(of.getFullYear(), of.getMonth(), of.getDate()).getTime();
}

/** @param {string} text */
function capitalized(text) { return text.charAt(0).toUpperCase() + text.slice(1); }

/**
 * The local day of a moment, to compare days with.
 *
 * @param {string} moment  RFC 3339
 */
export function dayOf(moment) { return new Date(moment).toDateString(); }

/**
 * "14:05".
 *
 * @param {string} moment
 */
export function clockTime(moment) { return clock.format(new Date(moment)); }

/**
 * Everything: for a tooltip.
 *
 * @param {string} moment
 */
export function fullTime(moment) { return full.format(new Date(moment)); }

/**
 * "Today", "Monday", "Monday, 3 March", "3 March 2019": for a line between days.
 *
 * @param {string} moment
 */
export function dayName(moment) {
  const date = new Date(moment);
  const ago = daysAgo(date);
  if (ago === 0 || ago === 1) return capitalized(relative.format(-ago, 'day'));
  if (ago > 1 && ago < 7) return capitalized(weekday.format(date));
  const isThisYear = date.getFullYear() === new Date().getFullYear();
  return (isThisYear ? dayOfYear : dayOfAnyYear).format(date);
}

/**
 * "14:05", "Mon 14:05", "3 Mar 14:05", "3 Mar 2019 14:05": in a sentence.
 *
 * @param {string} moment
 */
export function momentName(moment) {
  const day = briefTime(moment);
  const time = clockTime(moment);
  return day === time ? time : `${day} ${time}`;
}

/**
 * "14:05", "Mon", "3 Mar", "3 Mar 2019": for a list.
 *
 * @param {string} moment
 */
export function briefTime(moment) {
  const date = new Date(moment);
  const ago = daysAgo(date);
  if (ago <= 0) return clock.format(date);
  if (ago < 7) return shortWeekday.format(date);
  return (date.getFullYear() === new Date().getFullYear() ? shortDay : shortDate).format(date);
}
