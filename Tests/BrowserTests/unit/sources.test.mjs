import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

const folder = new URL('../../../Sources/Browser/', import.meta.url);
const read = (name) => readFileSync(new URL(name, folder), 'utf8');
const scripts = readdirSync(folder, { recursive: true }).filter((name) => name.endsWith('.js'));

/** What turns text into markup or code. */
const injection = /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function\(/u;

test('nothing that was written by a person can become markup or code', () => {
  for (const name of scripts) assert.doesNotMatch(read(name), injection, name);
  assert.match('row.innerHTML = body', injection, 'the rule finds what it looks for');
});

test('the page carries no inline script or style, and a policy that forbids them', () => {
  const page = read('index.html');
  assert.doesNotMatch(page, /<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)/u);
  assert.match(page, /Content-Security-Policy" content="default-src 'none'; script-src 'self'/u);
});

test('the client imports nothing of the page', () => {
  for (const name of scripts.filter((of) => !of.includes('/') && of !== 'page.js')) {
    assert.doesNotMatch(read(name), /from '\.\/components\//u, name);
  }
});

test('every import names a file that is there', () => {
  for (const name of scripts) {
    for (const [, path] of read(name).matchAll(/^(?:import|export) .*?from '([^']+)'/gmu)) {
      // The app brings it.
      if (name === 'react.js' && path === 'react') continue;
      const target = new URL(path, new URL(name, folder));
      assert.doesNotThrow(() => readFileSync(target), `${name}: ${path}`);
    }
  }
});
