/** Every write of the blob store, the records, the archive and the lock fails once, or from some call on. */
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { ProblemError } from '../../src/shared/problems.js';
import { createArchive } from '../../src/stores/directory/archive.js';
import { createBlobStore } from '../../src/stores/directory/blobs.js';
import { refOf } from '../../src/system/hash.js';
import { createLocks } from '../../src/workspace/apply/lock.js';
import { createRecordStore } from '../../src/stores/directory/records.js';
import type { ArchiveEntry } from '../../src/stores/ports.js';
import { sampled } from '../support/seeded.js';
import {
  FAULTS,
  SHORT_WRITES,
  atEachCall,
  noLinks,
  type StoreWork,
} from '../support/store-faults.js';
import { holds } from '../support/blobs.js';

const bytes = (text: string) => new TextEncoder().encode(text);
/** Its value where it can be read; null where the store says that it is not there. Anything else fails the test. */
const orLost = <T>(work: Promise<T>): Promise<T | null> =>
  work.catch((error: unknown) => {
    if (error instanceof ProblemError && error.problem.code === 'blob_lost') return null;
    throw error;
  });

const OLD = 'recorded before';
const NEW = 'new bytes, '.repeat(500);
const DAMAGED = 'damaged by hand, mended by a put';

const blobs: StoreWork = {
  prepare: async (dir) => {
    const store = createBlobStore({ dir });
    await store.put(bytes(OLD));
    const ref = await store.put(bytes(DAMAGED));
    const path = join(dir, ref.slice(7, 9), ref.slice(7));
    fs.chmodSync(path, 0o600);
    fs.writeFileSync(path, 'damage');
  },
  act: async (sys, dir, told) => {
    const store = createBlobStore({ dir, sys });
    for (const text of [NEW, OLD, DAMAGED]) {
      await store.put(bytes(text));
      told(text);
    }
    if (await holds(store, refOf(bytes(NEW)))) told(NEW);
  },
  check: async (dir, told) => {
    const store = createBlobStore({ dir });
    for (const text of [NEW, OLD, DAMAGED]) {
      const read = await orLost(store.get(refOf(bytes(text))));
      const there = read === null ? null : Buffer.from(read).toString();
      expect([text, null]).toContain(there);
      if (told.includes(text) || text === OLD) expect(there).toBe(text);
    }
  },
};

const records: StoreWork = {
  prepare: async (dir) => {
    await createRecordStore({ dir }).putIfAbsent('steps/a/old', { is: OLD });
  },
  act: async (sys, dir, told) => {
    const store = createRecordStore({ dir, sys });
    expect(await store.putIfAbsent('steps/a/old', { is: 'not this' })).toMatchObject({
      created: false,
    });
    for (const key of ['steps/a/new', 'steps/b/new']) {
      expect((await store.putIfAbsent(key, { is: NEW })).value).toEqual({ is: NEW });
      told(key);
    }
  },
  check: async (dir, told) => {
    const store = createRecordStore({ dir });
    expect(await store.get('steps/a/old')).toEqual({ is: OLD });
    for (const key of ['steps/a/new', 'steps/b/new'])
      expect(told.includes(key) ? [{ is: NEW }] : [{ is: NEW }, null]).toContainEqual(
        await store.get(key),
      );
  },
};

const STEP = '0123456789abcdef';
const entry = (id: string): ArchiveEntry => ({
  id,
  at: '2026-01-01T00:00:00Z',
  kind: 'event',
  data: id + NEW,
});
const archive: StoreWork = {
  prepare: async (dir) => {
    await createArchive({ dir }).append(STEP, [entry('old-1'), entry('old-2')]);
    // What a writer that died left behind.
    fs.appendFileSync(join(dir, STEP, 'log.jsonl'), JSON.stringify(entry('torn')).slice(0, 99));
  },
  act: async (sys, dir, told) => {
    for (const ids of [['new-1', 'new-2'], ['new-3']]) {
      await createArchive({ dir, sys }).append(STEP, ids.map(entry));
      ids.forEach(told);
    }
  },
  check: async (dir, told) => {
    const read = await createArchive({ dir }).read(STEP);
    const ids = read.map((e) => e.id);
    expect(read).toMatchObject(ids.map(entry));
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids).toEqual(expect.arrayContaining(['old-1', 'old-2', ...told]));
    expect(ids).not.toContain('torn');
  },
};

const A = 'aaaaaaaaaaaaaaaa';
const B = 'bbbbbbbbbbbbbbbb';
const C = 'cccccccccccccccc';
const holder = { workflowId: 'w', namespace: 'n' };
/** `steps`: who takes it and who finds it busy then, one after the other. */
const lock = (inGit: boolean, steps: readonly (readonly [string, string])[]): StoreWork => ({
  prepare: async (dir) => {
    fs.mkdirSync(join(dir, 'work'));
    if (inGit) execFileSync('git', ['init', '-q', '-b', 'main'], { cwd: join(dir, 'work') });
    const keeper = createLocks({ home: join(dir, 'home') });
    for (let earlier = 0; earlier < 5; earlier++) {
      await keeper.take(join(dir, 'work'), C, holder);
      await keeper.release(join(dir, 'work'), C);
    }
  },
  // What an attempt after a fault does too: it takes what it holds already, and ends it.
  act: async (sys, dir, told) => {
    const keeper = createLocks({ home: join(dir, 'home'), sys });
    const work = join(dir, 'work');
    for (const [step, other] of steps) {
      const before = await keeper.read(work);
      if (before !== null && before.stepKey !== step) await keeper.release(work, before.stepKey);
      expect(await keeper.take(work, step, holder)).toMatchObject({
        outcome: 'held',
        lock: { stepKey: step },
      });
      told(`held ${step}`);
      expect(await keeper.take(work, other, holder)).toMatchObject({
        outcome: 'busy',
        holder: { stepKey: step },
      });
      told('ending');
      await keeper.release(work, step);
      told('free');
    }
  },
  check: async (dir, told) => {
    const keeper = createLocks({ home: join(dir, 'home') });
    const read = await keeper.read(join(dir, 'work'));
    if (read !== null)
      expect(read).toEqual({
        ...holder,
        token: expect.any(Number),
        stepKey: expect.stringMatching(/^(a+|b+)$/),
        takenAt: expect.any(String),
        head: null,
        headRef: inGit ? 'refs/heads/main' : null,
      });
    // Numbers never fall: five takings were there before.
    if (read !== null) expect(read.token).toBeGreaterThan(5);
    const last = told.at(-1);
    if (last?.startsWith('held ') === true) expect(read?.stepKey).toBe(last.slice('held '.length));
    if (told.length === 3 * steps.length) expect(read).toBeNull();
  },
});

describe.each([
  ['blob store', blobs],
  ['blob store without hard links', { ...blobs, real: noLinks }],
  ['records', records],
  ['records without hard links', { ...records, real: noLinks }],
  ['archive', archive],
  [
    'lock in a repository',
    lock(true, [
      [A, B],
      [B, A],
    ]),
  ],
  ['lock in the home, without hard links', { ...lock(false, [[A, B]]), real: noLinks }],
] as const)('%s', (store, work) => {
  // Git is asked at every use of a lock outside a repository: two faults, as its writes are those of the other.
  const few = ['ENOSPC, torn', 'EIO, after'];
  const all =
    store === 'archive'
      ? [...FAULTS, ...SHORT_WRITES]
      : FAULTS.filter(([name]) => !store.startsWith('lock in the home') || few.includes(name));
  const faults = sampled(`kinds of faults of ${store}`, all, 3);

  test('each fault at each write: nothing torn is read, nothing recorded is lost, the next attempt succeeds', async () => {
    const tally: Record<string, unknown> = {};
    for (const [name, fault] of faults)
      tally[name] = await atEachCall(
        `${store}, ${name}`,
        fault,
        work,
        store.startsWith('lock') ? 1 : 2,
      );
    process.stdout.write(`${store}: ${JSON.stringify(tally)}\n`);
    expect(Object.keys(tally)).toHaveLength(faults.length);
  }, 600_000);
});
