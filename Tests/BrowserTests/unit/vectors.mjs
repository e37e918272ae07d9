import { readFileSync } from 'node:fs';

/**
 * The cases of a vector file that the Swift tests read too.
 *
 * @param {string} name
 * @returns {*[]}
 */
export function vectors(name) {
  const file = new URL(`../../Vectors/${name}.json`, import.meta.url);
  return JSON.parse(readFileSync(file, 'utf8')).cases;
}
