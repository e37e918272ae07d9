import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { mutations } from './mutations.mjs';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const read = (file) => readFileSync(join(root, 'Sources/Browser', file), 'utf8');
/** So many seeds a fault; with MUTATIONS=1 each is planted, which takes minutes. */
const SEEDS = process.env.MUTATION_SEEDS ?? '300';

test('each fault can be planted: what it changes is there, once', () => {
  for (const { name, file, from, to } of mutations) {
    assert.equal(read(file).split(from).length, 2, `${name}: ${file}`);
    assert.notEqual(from, to, name);
  }
});

/**
 * Runs a world in a copy of the client that has a fault; what the first seed that fails says, null
 * if none does: what fails without a seed was not found by a world.
 */
async function found({ world, file, from, to }) {
  const copy = mkdtempSync(join(tmpdir(), 'mutation-'));
  try {
    for (const part of ['Sources/Browser', 'Tests/BrowserTests/unit', 'Tests/Vectors']) {
      cpSync(join(root, part), join(copy, part), { recursive: true });
    }
    writeFileSync(join(copy, 'Sources/Browser', file), read(file).replace(from, () => to));
    const child = spawn(process.execPath, [`Tests/BrowserTests/unit/${world}.test.mjs`], {
      cwd: copy, stdio: ['ignore', 'pipe', 'pipe'],
      // The test that this is one of would have its reports mixed up.
      env: {
        ...process.env, NODE_TEST_CONTEXT: '', SEEDS, TAB_SEEDS: SEEDS, FIRST_SEED: '1',
        SHRINK: '0',
      },
    });
    let said = '';
    child.stdout.on('data', (text) => { said += text; });
    child.stderr.on('data', (text) => { said += text; });
    const status = await new Promise((resolve) => { child.on('close', resolve); });
    return status === 0 ? null : said.match(/seed \d+: [^\n']*/u)?.[0] ?? null;
  } finally {
    rmSync(copy, { recursive: true });
  }
}

for (const mutation of process.env.MUTATIONS ? mutations : []) {
  test(`it is found: ${mutation.name}`, async (context) => {
    const fault = await found(mutation);
    assert.notEqual(fault, null, `nothing was found in ${SEEDS} seeds`);
    context.diagnostic(`${mutation.name} | ${fault}`);
  });
}
