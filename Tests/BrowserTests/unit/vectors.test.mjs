import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { vectors } from './vectors.mjs';

const root = new URL('../../../', import.meta.url);
const kit = readFileSync(new URL('Tests/Vectors/README.md', root), 'utf8');

test('the conformance kit names each file, and how many cases it has', () => {
  const files = readdirSync(new URL('Tests/Vectors/', root))
    .filter((name) => name.endsWith('.json'));
  const named = [...kit.matchAll(/^\| `([a-z-]+)\.json` \| (\d+) \|/gmu)];
  assert.deepEqual(named.map(([, name]) => `${name}.json`).sort(), files.sort());
  for (const [, name, count] of named) assert.equal(vectors(name).length, Number(count), name);
});

test('and only what is there', () => {
  for (const [, path] of kit.matchAll(/`((?:Tests|deploy)\/[\w./-]+)`/gu)) {
    assert.ok(existsSync(new URL(path, root)), path);
  }
});
