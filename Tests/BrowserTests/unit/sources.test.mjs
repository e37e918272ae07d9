import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

const folder = new URL('../../../Sources/', import.meta.url);
const read = (name) => readFileSync(new URL(name, folder), 'utf8');
const scripts = ['Browser', 'Page'].flatMap((part) => (
  readdirSync(new URL(part, folder), { recursive: true })
    .filter((name) => name.endsWith('.js')).map((name) => `${part}/${name}`)
));

/** What turns text into markup or code. */
const injection = /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function\(/u;

test('nothing that was written by a person can become markup or code', () => {
  for (const name of scripts) assert.doesNotMatch(read(name), injection, name);
  assert.match('row.innerHTML = body', injection, 'the rule finds what it looks for');
});

test('the page carries no inline script or style, and a policy that forbids them', () => {
  const page = read('Page/index.html');
  assert.doesNotMatch(page, /<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)/u);
  assert.match(page, /Content-Security-Policy" content="default-src 'none'; script-src 'self'/u);
});

test('the client imports nothing of the page', () => {
  const client = scripts.filter((name) => name.startsWith('Browser/'));
  assert.ok(client.length > 50);
  for (const name of client) assert.doesNotMatch(read(name), /from '\.\.\//u, name);
});

test('every import names a file that is there', () => {
  for (const name of scripts) {
    for (const [, path] of read(name).matchAll(/^(?:import|export) .*?from '([^']+)'/gmu)) {
      // The app brings it.
      if (name === 'Browser/react.js' && path === 'react') continue;
      const target = new URL(path, new URL(name, folder));
      assert.doesNotThrow(() => readFileSync(target), `${name}: ${path}`);
    }
  }
});
