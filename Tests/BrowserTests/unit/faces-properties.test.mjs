import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { deedsOf } from './deeds.mjs';
import { DeedsWorld } from './deeds-world.mjs';
import { onError } from '../../../Sources/Browser/report.js';
import { caseOf, mishapsOf, World } from './faces-world.mjs';
import { settled } from './fake-gateway.mjs';
import { vectors } from './vectors.mjs';

/** Seeds that failed once; they are run each time. */
const KEPT = new URL('./faces-seeds.json', import.meta.url);
const COUNT = Number(process.env.SEEDS ?? 300);
const FIRST = Number(process.env.FIRST_SEED ?? 1);

/** A case of deeds, which are the same in Swift. */
const deedsCase = (seed) => {
  const { messages: size, deeds: steps, ...played } = deedsOf(seed);
  return { ...played, size, steps, isOfDeeds: true };
};

/** Runs a case; gives what went wrong, or nothing. */
async function failureOf(played) {
  const world = played.isOfDeeds ? new DeedsWorld(played) : new World(played);
  const restore = world.timers.install();
  const stop = onError((error) => world.reported.push(error));
  try {
    await settled();
    for (const step of played.steps) {
      if (played.isOfDeeds) {
        await world.play(step, settled);
        continue;
      }
      world.step(step);
      await settled();
      world.check();
    }
    await world.finish();
    return null;
  } catch (error) {
    return error;
  } finally {
    stop();
    restore();
  }
}

/** The smallest part of a case that still fails. */
async function shrunk(played) {
  let { steps, size } = played;
  for (let part = steps.length >> 1; part >= 1; part >>= 1) {
    for (let at = 0; at < steps.length;) {
      const fewer = [...steps.slice(0, at), ...steps.slice(at + part)];
      if (await failureOf({ ...played, size, steps: fewer })) steps = fewer; else at += part;
    }
  }
  for (let less = size >> 1; less >= 1; less >>= 1) {
    while (size >= less && await failureOf({ ...played, size: size - less, steps })) size -= less;
  }
  return { ...played, size, steps };
}

async function run(seed, of = caseOf) {
  const played = of(seed);
  const failure = await failureOf(played);
  if (failure === null) return;
  if (process.env.SHRINK === '0') throw new Error(`seed ${seed}: ${failure.message}`);
  const small = await shrunk(played);
  const last = await failureOf(small) ?? failure;
  throw new Error(`seed ${seed}: ${last.message}\n${JSON.stringify(small)}`, { cause: last });
}

/** Runs the cases of seeds, and throws what went wrong. */
async function runAll(first, count, of) {
  const failures = [];
  for (let seed = first; seed < first + count; seed += 1) {
    try {
      await run(seed, of);
    } catch (error) {
      failures.push(error);
      if (failures.length >= Number(process.env.FAILURES ?? 1)) break;
    }
  }
  if (failures.length === 1) throw failures[0];
  if (failures.length > 1) throw new Error(failures.map(({ message }) => message).join('\n\n'));
}

test('every face is exact after every frame, and whole at the end', async () => {
  const kept = existsSync(KEPT) ? JSON.parse(readFileSync(KEPT, 'utf8')) : [];
  for (const seed of kept) await run(seed);
  await runAll(FIRST, COUNT, caseOf);
});

test('nor does what goes wrong around it change that', async () => {
  await runAll(FIRST, COUNT, mishapsOf);
});

test('the deeds of a seed are those of Swift', () => {
  for (const { name, ...world } of vectors('deeds')) assert.deepEqual(deedsOf(world.seed), world, name);
});

test('and in their worlds too every face is exact, and whole at the end', async () => {
  await runAll(Number(process.env.FIRST_DEEDS ?? 1), Number(process.env.DEEDS ?? 60), deedsCase);
});
