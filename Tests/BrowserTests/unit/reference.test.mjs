import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const script = fileURLToPath(new URL('../../../deploy/client-reference', import.meta.url));
const page = new URL('../../../deploy/reference/javascript.md', import.meta.url);

test('the reference of the client is what its types and comments say', () => {
  const written = execFileSync(script, { encoding: 'utf8', maxBuffer: 1 << 24 });
  assert.equal(readFileSync(page, 'utf8'), written, 'deploy/client-reference writes it anew');
  const index = new URL('../../../Sources/Browser/gapless.js', import.meta.url);
  const exported = readFileSync(index, 'utf8').match(/^export \{ (\w+)/gmu);
  assert.ok(exported.length > 20);
  for (const name of exported.map((line) => line.split(' ').at(-1))) {
    assert.match(written, new RegExp(`^(### ${name}$|- \`${name}\\b)`, 'mu'));
  }
});
