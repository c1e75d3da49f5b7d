/** A home with the files of many ended runs: what they are passed over with, whoever starts a worker or looks at the list. */
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { createApplyEngine } from '../../src/workspace/apply/engine.js';
import { createArchive } from '../../src/stores/directory/archive.js';
import { createBlobStore } from '../../src/stores/directory/blobs.js';
import { realSys, type Sys } from '../../src/system/sys.js';
import { planRecord } from '../client/fake.js';

const RUNS = 150;

let home: string;
beforeEach(async () => {
  home = await realpath(await mkdtemp(join(tmpdir(), 'emend-many-')));
});
afterEach(() => rm(home, { recursive: true, force: true }));

const keyOf = (n: number): string => n.toString(16).padStart(32, '0');
const write = async (path: string, value: unknown): Promise<string> => {
  const full = join(home, path);
  await mkdir(dirname(full), { recursive: true });
  await writeFile(full, `${JSON.stringify(value)}\n`);
  return full;
};
/** Counts what is asked of the disk. */
const counting = (): { readonly sys: Sys; readonly calls: Record<string, number> } => {
  const calls: Record<string, number> = {};
  const sys = Object.fromEntries(
    Object.entries(realSys).map(([name, call]) => [
      name,
      typeof call !== 'function'
        ? call
        : (...args: never[]) => {
            calls[name] = (calls[name] ?? 0) + 1;
            return (call as (...given: never[]) => unknown)(...args);
          },
    ]),
  ) as unknown as Sys;
  return { sys, calls };
};

test('records that are settled are passed over by their names; what is not settled is still recovered', async () => {
  const lock = { v: 2, stepKey: keyOf(0), token: 1 };
  const plan = {
    v: 2,
    kind: 'apply',
    generation: 1,
    workspace: join(home, 'gone'),
    lock,
    files: [],
    token: 't',
  };
  const recordOf = (n: number, decision = 1): string =>
    `transactions/${keyOf(n)}/${'a'.repeat(64)}-${decision}`;
  for (let n = 0; n < RUNS; n += 1) {
    await write(`${recordOf(n)}/plan-1.json`, plan);
    await write(`${recordOf(n)}/verdict-1.json`, { v: 2, verdict: 'committed' });
    await write(`${recordOf(n)}/closed.json`, {
      v: 2,
      outcome: 'applied',
      files: [],
      conflicts: [],
      lock,
    });
  }
  // Others had a hand in it, and what they left is swept.
  await write(`${recordOf(0)}/driver-ab.json`, { v: 2 });
  await write(`${recordOf(0)}/swept.json`, { v: 2 });
  const { sys, calls } = counting();
  const blobs = createBlobStore({ dir: join(home, 'blobs') });
  expect(await createApplyEngine({ home, blobs, sys }).recover()).toEqual([]);
  expect(calls.readFile ?? 0).toBeLessThan(RUNS / 10);

  // The second application of a run was cut off in the middle, in a workspace that is not there any more.
  const process = { pid: 2 ** 22, started: 'x', boot: 'x' };
  await write(`${recordOf(7, 2)}/plan-1.json`, {
    ...planRecord(keyOf(7), { workspace: plan.workspace, process }),
    v: 2,
  });
  const found = await createApplyEngine({ home, blobs, sys }).recover();
  expect(found).toMatchObject([{ stepKey: keyOf(7), did: 'workspace_missing' }]);
});

test('runs are found by the beginning of their key with one look at each log', async () => {
  for (let n = 0; n < RUNS; n += 1) {
    await write(`archive/${keyOf(n)}/log.jsonl`, { v: 2 });
  }
  await mkdir(join(home, 'archive', keyOf(RUNS)));
  const { sys, calls } = counting();
  const listed = await createArchive({ dir: join(home, 'archive'), sys }).find('');
  expect(new Set(listed)).toEqual(new Set(Array.from({ length: RUNS }, (_, n) => keyOf(n))));
  expect(calls.readdir).toBeLessThan(RUNS / 10);
  expect(calls.stat).toBeLessThan(RUNS * 1.1);
});
