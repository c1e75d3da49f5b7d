/** Tests the order of durable writes (docs/durability.md): which names and bytes a power cut could still take back at the moments that count. */
import { cpSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { withPlanLog } from '../../src/activities/plan/plan-log.js';
import { createCallJournal } from '../../src/model/journal/index.js';
import { createCallLog, createRecordStore } from '../../src/stores/directory/records.js';
import { createArchive, linesOf } from '../../src/stores/directory/archive.js';
import { createBlobStore } from '../../src/stores/directory/blobs.js';
import { errnoOf, realSys, type Sys } from '../../src/system/sys.js';
import { askFor, modelAt, rule, withDir, withRehearsal } from '../model/support.js';
import { openRecord, recordsOf } from '../../src/workspace/apply/record.js';
import type { BlobRef } from '../../src/shared/ids.js';
import { makeScene } from '../workspace/apply-scene.js';
import { planRecord } from '../client/fake.js';
import { drawn, randomFrom } from '../support/seeded.js';
import { shimSys } from '../support/sys-shim.js';

const journalOf = (dir: string, options: Omit<Parameters<typeof createCallJournal>[0], 'calls'>) =>
  createCallJournal({
    ...options,
    calls: createCallLog({ dir: join(dir, 'calls'), ...(options.sys && { sys: options.sys }) }),
  });

/**
 * Watches the system calls below `dir`. `open` has the paths that were made, renamed or written and not synced since. `cut` is a power cut: it
 * takes back each of these changes or not, and bytes from some place on, as `random` decides, in a copy of `dir` if there is one. The process
 * is then of another boot.
 */
const watched = (
  dir: string,
  seen: (call: keyof Sys, path: string) => void | Promise<void> = () => undefined,
) => {
  const names = new Set<string>();
  /** The durable name that a rename took. */
  const before = new Map<string, string>();
  /** Number of durable bytes of each file. */
  const bytes = new Map<string, number>();
  const lengthOf = (path: string): Promise<number> =>
    realSys.lstat(path).then(
      ({ size }) => size,
      () => 0,
    );
  const noteName = async (path: string, work: Promise<void>): Promise<void> => {
    await work;
    names.add(path);
  };
  const moved = async (from: string, to: string, work: Promise<void>): Promise<void> => {
    await noteName(to, work);
    const durable = bytes.get(from);
    if (durable !== undefined) bytes.set(to, durable);
  };
  const sys: Sys = {
    ...realSys,
    writeExclusive: (path, content, file) =>
      noteName(path, realSys.writeExclusive(path, content, file)),
    append: async (path, content, sync) => {
      const before = await lengthOf(path);
      const isNew = await realSys.lstat(path).then(
        () => false,
        (error: unknown) => errnoOf(error) === 'ENOENT',
      );
      const written = await realSys.append(path, content, sync);
      if (isNew) names.add(path);
      if (sync === undefined) bytes.delete(path);
      else if (!bytes.has(path)) bytes.set(path, before);
      return written;
    },
    link: (from, to) => moved(from, to, realSys.link(from, to)),
    mkdir: (path, mode) => noteName(path, realSys.mkdir(path, mode)),
    rename: async (from, to) => {
      await seen('rename', from);
      await moved(from, to, realSys.rename(from, to));
      if (!names.delete(from)) before.set(to, from);
      bytes.delete(from);
    },
    unlink: async (path) => {
      await realSys.unlink(path);
      names.delete(path);
      bytes.delete(path);
    },
    fsyncFile: async (path) => {
      await realSys.fsyncFile(path);
      bytes.delete(path);
    },
    fsyncDir: async (path) => {
      await realSys.fsyncDir(path);
      for (const name of names) if (dirname(name) === path) names.delete(name);
    },
    readFile: (path) =>
      path.endsWith('/boot_id')
        ? Promise.resolve(new TextEncoder().encode('before'))
        : realSys.readFile(path),
  };
  const open = (): string[] =>
    [...names, ...bytes.keys()]
      .filter((path) => path.startsWith(`${dir}/`))
      .map((path) => path.slice(dir.length + 1));
  const cut = (random: () => number, copy = dir): void => {
    const copyOf = (path: string): string => join(copy, relative(dir, path));
    for (const [path, durable] of bytes) {
      if (!path.startsWith(`${dir}/`) || random() < 0.3) continue;
      const whole = readFileSync(copyOf(path));
      const from = durable + Math.floor(random() * (whole.length - durable));
      const lost = random() < 0.5 ? whole.subarray(0, from) : Buffer.from(whole).fill(0, from);
      rmSync(copyOf(path));
      writeFileSync(copyOf(path), lost, { mode: 0o600 });
    }
    for (const path of names)
      if (path.startsWith(`${dir}/`) && random() < 0.7) {
        const old = before.get(path);
        if (old === undefined) rmSync(copyOf(path), { recursive: true, force: true });
        else renameSync(copyOf(path), copyOf(old));
      }
  };
  return { sys, open, cut };
};

test('a call and the claim of it are durable before it is sent, its answer before it is reported', async () => {
  await withDir((dir) =>
    withRehearsal([rule('the answer')], async ({ url }) => {
      const { sys, open } = watched(dir);
      const real = modelAt(url);
      const sent: string[][] = [];
      const model: typeof real = {
        ...real,
        stream: (...args) => {
          sent.push(open());
          return real.stream(...args);
        },
      };
      const journal = createCallJournal({
        calls: createCallLog({ dir: join(dir, 'calls'), sys }),
        model,
        callOwner_ms: 1000,
        sys,
      });
      expect(await journal.ask(askFor())).toMatchObject({ outcome: 'answered' });
      expect(sent).toEqual([[]]);
      expect(open()).toEqual([]);
    }),
  );
});

/** The file is opened and renamed beneath the descriptor of its directory. */
const isTarget = (path: string): boolean => path.endsWith('/a.txt');

/** Marks of open transactions count only in the boot in which they were made: no power cut takes one that counts. */
const isNoMark = (path: string): boolean => !path.startsWith('home/index/transactions/');

test('plan and verdict are durable before a file is touched, the outcome before it is reported', async () => {
  const scene = await makeScene([{ path: 'a.txt', before: 'one\n', after: 'two\n' }]);
  const touched: string[][] = [];
  const { sys, open } = watched(scene.root, (call, path) => {
    if (call === 'rename' && isTarget(path)) touched.push(open().filter(isNoMark));
  });
  expect(await scene.engine({ sys }).apply(scene.request)).toMatchObject({ outcome: 'applied' });
  expect(touched).toEqual([[]]);
  expect(open()).toEqual([]);
  scene.remove();
});

test('what an activity begins with is seen at once, and durable with what it ends with', async () => {
  await withDir(async (dir) => {
    const { sys, open } = watched(dir);
    // A worker has such a home.
    const archive = withPlanLog(createArchive({ dir, sys }), join(dir, 'plan.log'));
    const stepKey = '0123456789abcdef0123456789abcdef';
    const entry = (id: string) =>
      ({ id, at: '2026-01-01T00:00:00Z', kind: 'event', data: {} }) as const;
    await archive.append(stepKey, [entry('first')], 'with_next_append');
    expect(await archive.read(stepKey)).toHaveLength(1);
    expect(open()).toContain(join(stepKey, 'log.jsonl'));
    await archive.append(stepKey, [entry('last')]);
    expect(open()).toEqual([]);
  });
});

test('a blob that is there is durable once it is named, whoever made it', async () => {
  await withDir(async (dir) => {
    const bytes = new TextEncoder().encode('bytes of another process');
    const other = watched(dir);
    const { sys } = other;
    // It died before the name was durable.
    const died = createBlobStore({
      dir,
      sys: { ...sys, fsyncDir: () => Promise.reject(new Error('killed')) },
    });
    await expect(died.put(bytes)).rejects.toThrow();
    expect(other.open()).not.toEqual([]);
    const store = createBlobStore({ dir, sys });
    await store.put(bytes);
    expect(other.open().filter((path) => path.includes('/'))).toEqual([]);
  });
});

test('a record that another process made is durable with all that leads to it, also if one of the syncs fails first', async () => {
  const synced = (call: number): Promise<boolean> =>
    withDir(async (dir) => {
      const { sys: plain, open } = watched(dir);
      for (const name of ['records', 'records/steps', 'records/steps/x'])
        await plain.mkdir(join(dir, name), 0o700);
      const bytes = new TextEncoder().encode(linesOf([{ value: 1 }]));
      await plain.writeExclusive(join(dir, 'records/steps/x/a.json'), bytes, { mode: 0o600 });
      const only = ['fsyncFile', 'fsyncDir'] as const;
      const { sys, fired } = shimSys(plain, {
        at: call,
        when: 'before',
        only,
        fault: { errno: 'EIO' },
      });
      const records = createRecordStore({ dir: join(dir, 'records'), sys });
      const put = () => records.putIfAbsent('steps/x/a', { value: 2 });
      expect(await put().catch(put)).toEqual({ value: { value: 1 }, created: false });
      expect([call, open()]).toEqual([call, []]);
      return fired();
    });
  for (let call = 1; await synced(call); call++);
});

describe('a power cut takes back what was not synced, and nothing that was reported', () => {
  const SEEDS = drawn(2, 100);
  const ALL_LOST = () => 0.5;
  const UNTOLD = { value: 'x'.repeat(5000) };
  /** Least number of calls of a put of a file in an existing directory. */
  const CALLS_OF_A_PUT = 5;
  const text = (words: string) => new TextEncoder().encode(words);
  const stepKey = '0123456789abcdef0123456789abcdef';
  const entry = (id: string) =>
    ({ id, at: '2026-01-01T00:00:00Z', kind: 'event', data: { id } }) as const;
  const storesOf = (home: string, sys: Sys = realSys) => ({
    blobs: createBlobStore({ dir: join(home, 'blobs'), sys }),
    records: createRecordStore({ dir: join(home, 'records'), sys }),
    archive: createArchive({ dir: join(home, 'archive'), sys }),
  });

  test('blobs, records and archives, in any subset; what nobody was reported of is whole or gone', async () => {
    for (let seed = 1; seed <= SEEDS; seed++)
      await withDir(async (home) => {
        const random = randomFrom(seed);
        const { sys, cut } = watched(home);
        const { blobs, records, archive } = storesOf(home, sys);
        const reported: string[] = [];
        const write = async (n: number) => {
          await archive.append(stepKey, [entry(`begin-${n}`)], 'with_next_append');
          const ref = await blobs.put(text(`blob ${n} ${'x'.repeat(Math.floor(random() * 9000))}`));
          const large = await blobs.put(text(`large ${n}`.padEnd(70_000)));
          await records.putIfAbsent(`steps/${stepKey}/r-${n}`, { ref, large });
          return archive.append(stepKey, [entry(`end-${n}`)]);
        };
        for (let n = 0; n < 6; n++) {
          await write(n);
          reported.push(String(n));
        }
        await archive.append(stepKey, [entry('begin-7')], 'with_next_append');
        // The power goes at a call of these two, before anything is reported.
        const fault = () => new Promise<void>(() => undefined);
        const stopped = async (act: (sys: Sys) => Promise<unknown>): Promise<void> => {
          const call = 1 + Math.floor(random() * CALLS_OF_A_PUT);
          const when = random() < 0.5 ? 'before' : 'after';
          const shim = shimSys(sys, { at: call, when, fault, onwards: true });
          // Without power no later call is made, and no one gets the result of a call in progress.
          act(shim.sys).catch(() => undefined);
          while (!shim.fired()) await sleep(1);
        };
        await stopped((stopping) =>
          storesOf(home, stopping).records.putIfAbsent(`steps/${stepKey}/untold`, UNTOLD),
        );
        await stopped((stopping) => storesOf(home, stopping).blobs.put(text('untold')));
        cut(random);

        const after = storesOf(home);
        const ids = (await after.archive.read(stepKey)).map(({ id }) => id);
        for (const n of reported) {
          expect(ids).toEqual(expect.arrayContaining([`begin-${n}`, `end-${n}`]));
          const record = (await after.records.get<{ ref: BlobRef; large: BlobRef }>(
            `steps/${stepKey}/r-${n}`,
          ))!;
          expect([
            seed,
            new TextDecoder().decode(await after.blobs.get(record.ref)).slice(0, 6),
          ]).toEqual([seed, `blob ${n}`]);
          expect((await after.blobs.get(record.large)).length).toBe(70_000);
        }
        const value = { value: 'anew' };
        const put = await after.records.putIfAbsent(`steps/${stepKey}/untold`, value);
        expect(put.created ? put.value : UNTOLD).toEqual(put.value);
        const untold = await after.blobs.put(text('untold'));
        expect(await after.blobs.get(untold)).toEqual(text('untold'));
      });
  });

  test('a plan, also a large one, and its verdict', async () => {
    await withDir(async (home) => {
      const { sys, cut } = watched(home);
      const record = `${stepKey}/1`;
      const dirs = Array.from({ length: 100 }, (_, n) => `${'x'.repeat(700)}${n}`);
      const plan = planRecord(stepKey, { dirs });
      await openRecord(sys, join(home, 'transactions'), record).putPlan(plan);
      await openRecord(sys, join(home, 'transactions'), record).putVerdict(1, 'committed');
      cut(ALL_LOST);
      expect(await openRecord(realSys, join(home, 'transactions'), record).load()).toMatchObject({
        plan: { generation: 1 },
        verdict: 'committed',
      });
    });
  });

  const streamAt = (home: string) => join(home, 'calls', 'a', 'b.jsonl');
  test('a stream in its order, with what an append left to the next one', async () => {
    await withDir(async (home) => {
      const { sys, cut } = watched(home);
      const calls = createCallLog({ dir: join(home, 'calls'), sys });
      await calls.putIfAbsent('a/call', {});
      const log = await calls.begin('a/b', text('{"n":0}\n'));
      await log.append(text('{"n":1}\n'), 'with_next_append');
      await log.append(text('{"n":2}\n'));
      await log.append(text('{"n":3}\n'), 'with_next_append');
      cut(ALL_LOST);
      const kept = readFileSync(streamAt(home), 'utf8').replaceAll('\0', '');
      expect(kept).toMatch(/^\{"n":0\}\n\{"n":1\}\n\{"n":2\}\n(?!\{"n":3\}\n)/);
    });
  });

  test('what two workers and a client added to one archive', async () => {
    await withDir(async (home) => {
      const { sys, cut } = watched(home);
      const [client, one, two] = [1, 2, 3].map(() => storesOf(home, sys).archive);
      await client!.append(stepKey, [entry('start')]);
      await one!.append(stepKey, [entry('A'.padEnd(9000))], 'with_next_append');
      await two!.append(stepKey, [entry('B')]);
      cut(ALL_LOST);
      const ids = (await storesOf(home).archive.read(stepKey)).map(({ id }) => id.trim());
      expect(ids.sort()).toEqual(['A', 'B', 'start']);
    });
  });

  test('what was reported, though any call of the writer fails, and its next write', async () => {
    const fails = (when: 'before' | 'after', call: number): Promise<boolean> =>
      withDir(async (home) => {
        const { sys: plain, cut } = watched(home);
        const only = [
          'append',
          'writeExclusive',
          'link',
          'mkdir',
          'fsyncFile',
          'fsyncDir',
          'unlink',
        ] as const;
        const { sys, fired } = shimSys(plain, { at: call, when, only, fault: { errno: 'EIO' } });
        const { records, archive } = storesOf(home, sys);
        const write = async (key: string) => {
          await records.putIfAbsent(key, { key });
          await archive.append(stepKey, [entry(key)]);
        };
        await write('a').catch(() => write('a'));
        await write('b').catch(() => write('b'));
        const happened = fired();
        cut(ALL_LOST);
        const after = storesOf(home);
        const ids = (await after.archive.read(stepKey)).map(({ id }) => id);
        expect([when, call, ids]).toEqual([when, call, expect.arrayContaining(['a', 'b'])]);
        for (const key of ['a', 'b']) expect(await after.records.get(key)).toEqual({ key });
        return happened;
      });
    for (const when of ['before', 'after'] as const)
      for (let call = 1; await fails(when, call); call++);
  });

  test('an archive whose first line a full disk tore', async () => {
    await withDir(async (home) => {
      const { sys, cut } = watched(home);
      const { archive } = storesOf(home, sys);
      const path = join(home, 'archive', stepKey, 'log.jsonl');
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, `{"id":"to\n${linesOf([entry('first')])}`);
      await archive.append(stepKey, [entry('last')]);
      cut(ALL_LOST);
      expect((await storesOf(home).archive.read(stepKey)).map(({ id }) => id)).toEqual([
        'first',
        'last',
      ]);
    });
  });

  test('a call as it is sent, and its answer', async () => {
    for (let seed = 1; seed <= SEEDS; seed++)
      await withDir((dir) =>
        withRehearsal([rule('the answer, word by word '.repeat(40))], async ({ url }) => {
          const home = join(dir, 'home');
          await realSys.mkdir(home, 0o700);
          const { sys, cut } = watched(home);
          const real = modelAt(url);
          const options = { callOwner_ms: 100 };
          const asSent = join(dir, 'as sent');
          const model: typeof real = {
            ...real,
            stream: (...args) => {
              cpSync(home, asSent, { recursive: true, preserveTimestamps: true });
              cut(ALL_LOST, asSent);
              return real.stream(...args);
            },
          };
          const journal = journalOf(home, { model, sys, ...options });
          const first = await journal.ask(askFor());
          cut(randomFrom(seed));

          const never: typeof real = {
            ...real,
            stream: () => Promise.reject(new Error('asked again')),
          };
          const again = journalOf(home, { model: never, ...options });
          expect(await again.ask(askFor())).toMatchObject({ ...first, recorded: true });
          // The record shows that the call in progress may be paid for.
          const lost = journalOf(asSent, { model: never, ...options });
          expect(await lost.ask({ ...askFor(), maxUnknownCalls: 1 })).toMatchObject({
            outcome: 'call_lost',
          });
        }),
      );
  });

  test('plan and verdict as the first file is touched; the outcome', async () => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      const scene = await makeScene([{ path: 'a.txt', before: 'one\n', after: 'two\n' }]);
      const { home } = scene;
      const asTouched = `${home}-as-touched`;
      const { sys, cut } = watched(home, (_, path) => {
        if (!isTarget(path)) return;
        cpSync(home, asTouched, { recursive: true, preserveTimestamps: true });
        cut(ALL_LOST, asTouched);
      });
      const done = await scene.engine({ sys }).apply(scene.request);
      expect(done).toMatchObject({ outcome: 'applied' });
      cut(randomFrom(seed));
      expect(await scene.engine().apply(scene.request)).toEqual(done);
      const [record] = await recordsOf(
        realSys,
        join(asTouched, 'transactions'),
        scene.request.stepKey,
      );
      expect(await record?.load()).toMatchObject({ plan: { generation: 1 }, verdict: 'committed' });
      rmSync(asTouched, { recursive: true });
      scene.remove();
    }
  });
});
