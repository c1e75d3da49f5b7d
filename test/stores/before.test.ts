/** What is durable before what (docs/architecture.md): names and bytes that a power cut could still take back, at the moments that count. */
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, jest, test } from '@jest/globals';
import { withPlanLog } from '../../src/activities/plan/plan-log.js';
import { createCallJournal } from '../../src/model/journal/index.js';
import { createCallLog, createRecordStore } from '../../src/stores/directory/records.js';
import { createArchive, linesOf } from '../../src/stores/directory/archive.js';
import { createBlobStore } from '../../src/stores/directory/blobs.js';
import { loggedFiles, openRedo, replayRedo } from '../../src/system/redo.js';
import { errnoOf, realSys, type Sys } from '../../src/system/sys.js';
import { askFor, modelAt, rule, withDir, withRehearsal } from '../model/support.js';
import { openRecord, recordsOf } from '../../src/workspace/apply/record.js';
import type { BlobRef } from '../../src/shared/ids.js';
import { VERSION, type ProblemError } from '../../src/shared/problems.js';
import { makeScene } from '../workspace/apply-scene.js';
import { planRecord } from '../client/fake.js';
import { drawn, randomFrom } from '../support/seeded.js';
import { errnoError, shimSys } from '../support/sys-shim.js';

const journalOf = (dir: string, options: Omit<Parameters<typeof createCallJournal>[0], 'calls'>) =>
  createCallJournal({
    ...options,
    calls: createCallLog({ dir: join(dir, 'calls'), ...(options.sys && { sys: options.sys }) }),
  });

/**
 * `open`: what was made, renamed or written below `dir` and not synced since, by its path there. `cut`: a power cut, which takes back each
 * of that or not, and bytes from somewhere on, as `random` says; of a copy of `dir` where there is one. The process is of another boot.
 */
const watched = (
  dir: string,
  seen: (call: keyof Sys, path: string) => void | Promise<void> = () => undefined,
) => {
  const names = new Set<string>();
  let isOff = false;
  /** The durable name that a rename took. */
  const before = new Map<string, string>();
  /** How much of a file is durable. */
  const bytes = new Map<string, number>();
  const lengthOf = (path: string): Promise<number> =>
    realSys.lstat(path).then(
      ({ size }) => size,
      () => 0,
    );
  const made = async (path: string, work: Promise<void>): Promise<void> => {
    await work;
    names.add(path);
  };
  const moved = async (from: string, to: string, work: Promise<void>): Promise<void> => {
    await made(to, work);
    const durable = bytes.get(from);
    if (durable !== undefined) bytes.set(to, durable);
  };
  const sys: Sys = {
    ...realSys,
    writeExclusive: async (path, content, file, later) => {
      await made(path, realSys.writeExclusive(path, content, file, later));
      if (later !== undefined) bytes.set(path, 0);
    },
    append: async (path, content, later) => {
      const before = await lengthOf(path);
      const isNew = await realSys.lstat(path).then(
        () => false,
        (error: unknown) => errnoOf(error) === 'ENOENT',
      );
      const written = await realSys.append(path, content, later);
      if (isNew) names.add(path);
      if (later === undefined) bytes.delete(path);
      else if (!bytes.has(path)) bytes.set(path, before);
      return written;
    },
    link: (from, to) => moved(from, to, realSys.link(from, to)),
    mkdir: (path, mode) => made(path, realSys.mkdir(path, mode)),
    rename: async (from, to) => {
      await seen('rename', from);
      await moved(from, to, realSys.rename(from, to));
      if (!names.delete(from)) before.set(to, from);
      bytes.delete(from);
    },
    unlink: async (path) => {
      if (isOff) await new Promise(() => undefined);
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
    isOff = copy === dir;
    const at = (path: string): string => join(copy, relative(dir, path));
    for (const [path, durable] of bytes) {
      if (!path.startsWith(`${dir}/`) || random() < 0.3) continue;
      const whole = readFileSync(at(path));
      const from = durable + Math.floor(random() * (whole.length - durable));
      const lost = random() < 0.5 ? whole.subarray(0, from) : Buffer.from(whole).fill(0, from);
      rmSync(at(path));
      writeFileSync(at(path), lost, { mode: 0o600 });
    }
    for (const path of names)
      if (path.startsWith(`${dir}/`) && random() < 0.7) {
        const old = before.get(path);
        if (old === undefined) rmSync(at(path), { recursive: true, force: true });
        else renameSync(at(path), at(old));
      }
  };
  return { sys, open, cut };
};

test('a call and the claim of it are durable before it is sent, its answer before it is told', async () => {
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

test('plan and verdict are durable before a file is touched, the outcome before it is told', async () => {
  const scene = await makeScene([{ path: 'a.txt', before: 'one\n', after: 'two\n' }]);
  const touched: string[][] = [];
  const { sys, open } = watched(scene.root, (call, path) => {
    if (call === 'rename' && isTarget(path)) touched.push(open());
  });
  expect(await scene.engine({ sys }).apply(scene.request)).toMatchObject({ outcome: 'applied' });
  expect(touched).toEqual([[]]);
  expect(open()).toEqual([]);
  scene.remove();
});

test('what an activity begins with is seen at once, and durable with what it ends with', async () => {
  await withDir(async (dir) => {
    const { sys, open } = watched(dir);
    // As a worker has it.
    const archive = withPlanLog(createArchive({ dir, sys }), join(dir, 'plan.log'));
    const stepKey = '0123456789abcdef0123456789abcdef';
    const entry = (id: string) =>
      ({ id, at: '2026-01-01T00:00:00Z', kind: 'event', data: {} }) as const;
    await archive.append(stepKey, [entry('first')], 'later');
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

describe('a power cut takes back what was not synced; the next start brings back what was reported', () => {
  const SEEDS = drawn(2, 100);
  const ALL_LOST = () => 0.5;
  const text = (words: string) => new TextEncoder().encode(words);
  const stepKey = '0123456789abcdef0123456789abcdef';
  const entry = (id: string) =>
    ({ id, at: '2026-01-01T00:00:00Z', kind: 'event', data: { id } }) as const;
  const storesOf = (home: string, sys: Sys = realSys) => ({
    blobs: createBlobStore({ dir: join(home, 'blobs'), sys }),
    records: createRecordStore({ dir: join(home, 'records'), sys }),
    archive: createArchive({ dir: join(home, 'archive'), sys }),
  });

  test('blobs, records and archives, in any subset; what nobody was told of is whole or gone', async () => {
    for (let seed = 1; seed <= SEEDS; seed++)
      await withDir(async (home) => {
        const random = randomFrom(seed);
        const { sys: plain, cut } = watched(home);
        const redo = await openRedo(plain, home);
        const { blobs, records, archive } = storesOf(home, { ...plain, redo });
        const told: string[] = [];
        const write = async (n: number) => {
          await archive.append(stepKey, [entry(`begin-${n}`)], 'later');
          const ref = await blobs.put(
            text(`blob ${n} ${'x'.repeat(Math.floor(random() * 9000))}`),
            'later',
          );
          const large = await blobs.put(text(`large ${n}`.padEnd(70_000)), 'later');
          await records.putIfAbsent(`steps/${stepKey}/r-${n}`, { ref, large }, 'later');
          return archive.append(stepKey, [entry(`end-${n}`)]);
        };
        for (let n = 0; n < 6; n++) {
          if (random() < 0.3) await redo.cut();
          await write(n);
          told.push(String(n));
        }
        await archive.append(stepKey, [entry('begin-7')], 'later');
        await records.putIfAbsent(`steps/${stepKey}/untold`, { value: 'x'.repeat(5000) }, 'later');
        const untold = await blobs.put(text('untold'), 'later');
        cut(random);

        await replayRedo(realSys, home);
        const after = storesOf(home);
        const ids = (await after.archive.read(stepKey)).map(({ id }) => id);
        for (const n of told) {
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
        expect(put.created ? put.value : { value: 'x'.repeat(5000) }).toEqual(put.value);
        expect(await after.blobs.put(text('untold'))).toBe(untold);
        expect(await after.blobs.get(untold)).toEqual(text('untold'));
        // Nothing is left to replay.
        expect(await realSys.readdir(join(home, 'redo'))).toEqual([]);
      });
  });

  test('a log with a line that is none of one is named, writes nothing elsewhere, and put aside it is in the way of nothing', async () => {
    const line = (more: object): string =>
      `${JSON.stringify({ path: 'records/a.json', bytes: 'e30K', ...more })}\n`;
    const head = (more: object): string => `${JSON.stringify({ v: VERSION, at: 1, ...more })}\n`;
    const wrong = [
      ...[
        { at: undefined },
        { at: 'x' },
        { at: 1.5 },
        { at: null },
        { v: undefined },
        { v: 'x' },
      ].map(head),
      ...[{ path: 5 }, { path: undefined }, { bytes: 5 }, { bytes: undefined }, { mode: 'x' }].map(
        (more) => head({}) + line(more),
      ),
      ...['../a', '/etc/a', 'host-id', 'records', 'records/../host-id', 'records/..'].map(
        (path) => head({}) + line({ path }),
      ),
      `[]\n${line({})}`,
      `${head({})}[]\n`,
    ];
    for (const text of wrong)
      await withDir(async (home) => {
        const owner = { boot: 'of another time', pid: 1, started: '1', namespace: null };
        const name = `${Buffer.from(JSON.stringify(owner)).toString('base64url')}.0123456789ab`;
        const path = join(home, 'redo', name);
        mkdirSync(join(home, 'redo'));
        writeFileSync(path, text);
        writeFileSync(join(home, 'host-id'), 'kept');
        for (const read of [replayRedo, loggedFiles]) {
          const said = await read(realSys, home).then(
            () => null,
            (error: unknown) => (error as ProblemError).problem,
          );
          expect([text, said]).toMatchObject([
            text,
            { code: 'disk', message: expect.stringContaining(`${path} is damaged`) },
          ]);
          if (read === loggedFiles)
            execFileSync('sh', ['-c', said!.next!.replace(/^.*: mv /, 'mv ')]);
        }
        await replayRedo(realSys, home);
        expect((await loggedFiles(realSys, home)).size).toBe(0);
        expect([readdirSync(join(home, 'redo')), readdirSync(home).sort()]).toEqual([
          [`${name}.damaged`],
          ['host-id', 'redo'],
        ]);
        expect(readFileSync(join(home, 'host-id'), 'utf8')).toBe('kept');
      });
  });

  test('what is half written is found though the clock was set back while the process wrote', async () => {
    await withDir(async (home) => {
      const { sys: plain, cut } = watched(home);
      const now = Date.now;
      Date.now = () => now() + 365 * 86_400_000;
      const redo = await openRedo(plain, home).finally(() => (Date.now = now));
      const { records } = storesOf(home, { ...plain, redo });
      await records.putIfAbsent('told', { value: 1 });
      await redo.cut();
      await records.putIfAbsent('untold', { value: 'x'.repeat(5000) }, 'later');
      // Its end is there, and its name.
      cut(() => 0.8);
      await replayRedo(realSys, home);
      const after = storesOf(home).records;
      expect(await after.get('told')).toEqual({ value: 1 });
      expect(await after.putIfAbsent('untold', { value: 2 })).toEqual({
        value: { value: 2 },
        created: true,
      });
    });
  });

  test('a log that the disk cut short; a replay that fails at any of its calls', async () => {
    await withDir(async (home) => {
      const { sys: plain, cut } = watched(home);
      const isLog = (path: unknown) => String(path).includes('/redo/');
      let full = false;
      const append: Sys['append'] = (path, content, later) =>
        plain.append(path, full && isLog(path) ? content.subarray(0, 40) : content, later);
      const redo = await openRedo({ ...plain, append }, home);
      const { records } = storesOf(home, { ...plain, redo });
      await records.putIfAbsent('a', { value: 1 });
      full = true;
      await expect(records.putIfAbsent('b', { value: 2 })).rejects.toThrow(/ENOSPC/);
      full = false;
      expect(await records.putIfAbsent('b', { value: 3 })).toEqual({
        value: { value: 2 },
        created: false,
      });
      // What the first log named is synced where it lies by now; the second one names the rest.
      while ((await realSys.readdir(join(home, 'redo'))).length > 1) await sleep(5);
      cut(ALL_LOST);
      for (let at = 1; ; at++) {
        const copy = `${home}-${at}`;
        cpSync(home, copy, { recursive: true, preserveTimestamps: true });
        const shim = shimSys(realSys, { at, when: 'before', fault: { errno: 'EIO' } });
        const failed = await replayRedo(shim.sys, copy).catch((error: unknown) => error);
        expect(String(failed)).toMatch(shim.fired() ? /EIO/ : /undefined/);
        await replayRedo(realSys, copy);
        const after = storesOf(copy).records;
        expect(await Promise.all(['a', 'b'].map((key) => after.get(key)))).toEqual([
          { value: 1 },
          { value: 2 },
        ]);
        rmSync(copy, { recursive: true });
        if (!shim.fired()) break;
      }
    });
  });

  test('what is too large for the log: its name too, before what follows is logged', async () => {
    await withDir(async (home) => {
      const { sys: plain, cut } = watched(home);
      const sys = { ...plain, redo: await openRedo(plain, home) };
      const record = `${stepKey}/1`;
      const dirs = Array.from({ length: 100 }, (_, n) => `${'x'.repeat(700)}${n}`);
      const plan = planRecord(stepKey, { dirs });
      await openRecord(sys, join(home, 'transactions'), record).putPlan(plan);
      await openRecord(sys, join(home, 'transactions'), record).putVerdict(1, 'committed');
      cut(ALL_LOST);
      await replayRedo(realSys, home);
      expect(await openRecord(realSys, join(home, 'transactions'), record).load()).toMatchObject({
        plan: { generation: 1 },
        verdict: 'committed',
      });
    });
  });

  const streamAt = (home: string) => join(home, 'calls', 'a', 'b.jsonl');
  const beginStream = async (home: string, sys: Sys, line: string) => {
    const calls = createCallLog({ dir: join(home, 'calls'), sys });
    await calls.putIfAbsent('a/call', {}, 'name');
    return calls.begin('a/b', text(line));
  };
  test('a stream in its order, also from two logs of one process', async () => {
    for (let round = 0; round < 8; round++)
      await withDir(async (home) => {
        const { sys, cut } = watched(home);
        // The power goes before what the first log names is synced where it lies.
        const slow: Sys = { ...sys, fsyncFile: () => new Promise(() => undefined) };
        const redo = await openRedo(slow, home);
        const log = await beginStream(home, { ...slow, redo }, '{"n":0}\n');
        await log.append(text('{"n":1}\n'));
        void redo.cut();
        await log.append(text('{"n":2}\n'));
        cut(ALL_LOST);
        await replayRedo(realSys, home);
        expect(readFileSync(streamAt(home), 'utf8')).toBe('{"n":0}\n{"n":1}\n{"n":2}\n');
      });
  });

  test('what two workers added to one archive, where a page before the last is lost', async () => {
    for (let round = 0; round < 8; round++)
      await withDir(async (home) => {
        const { sys } = watched(home);
        const [one, two] = [await openRedo(sys, home), await openRedo(sys, home)];
        await storesOf(home).archive.append(stepKey, [entry('start')]);
        await storesOf(home, { ...sys, redo: one }).archive.append(stepKey, [
          entry('A'.padEnd(9000)),
        ]);
        await storesOf(home, { ...sys, redo: two }).archive.append(stepKey, [entry('B')]);
        const path = join(home, 'archive', stepKey, 'log.jsonl');
        writeFileSync(path, readFileSync(path).fill(0, 4096, 8192));
        await replayRedo(realSys, home);
        const ids = (await storesOf(home).archive.read(stepKey)).map(({ id }) => id.trim());
        expect(ids.sort()).toEqual(['A', 'B', 'start']);
      });
  });

  test('once, where another opens the home, and writes, before any call of one that is slow', async () => {
    await withDir(async (dir) => {
      const home = join(dir, 'home');
      mkdirSync(home);
      const { sys, cut } = watched(home);
      const log = await beginStream(home, { ...sys, redo: await openRedo(sys, home) }, '{"n":0}\n');
      await log.append(text('{"n":1}\n'));
      cut(ALL_LOST);
      for (const name of ['records/torn.json', 'calls/a/torn.jsonl']) {
        mkdirSync(dirname(join(home, name)), { recursive: true });
        writeFileSync(join(home, name), '{"v":2,');
      }
      for (let at = 1; ; at++) {
        const copy = join(dir, String(at));
        cpSync(home, copy, { recursive: true, preserveTimestamps: true });
        const fault = async () => {
          await Promise.all([replayRedo(realSys, copy), replayRedo(realSys, copy)]);
          await realSys.append(streamAt(copy), text('{"n":2}\n'));
          await realSys.append(join(copy, 'calls/a/torn.jsonl'), text('{"n":3}\n'));
          await storesOf(copy).records.putIfAbsent('torn', { value: 1 });
        };
        const { sys: slow, fired } = shimSys(realSys, { at, when: 'before', fault });
        await replayRedo(slow, copy);
        if (!fired()) break;
        const found = [streamAt(copy), join(copy, 'calls/a/torn.jsonl')].map((path) =>
          readFileSync(path, 'utf8'),
        );
        expect([at, ...found]).toEqual([at, '{"n":0}\n{"n":1}\n{"n":2}\n', '{"n":3}\n']);
        expect(await storesOf(copy).records.get('torn')).toEqual({ value: 1 });
        const left = readdirSync(copy, { recursive: true, encoding: 'utf8' });
        expect(left.filter((name) => /REPLAY|TMP|redo./.test(name))).toEqual([]);
        rmSync(copy, { recursive: true });
      }
    });
  });

  test('what was reported, though any call of the writer fails, and its next write', async () => {
    const fails = (when: 'before' | 'after', at: number): Promise<boolean> =>
      withDir(async (home) => {
        const { sys: plain, cut } = watched(home);
        const only = ['append', 'fsyncFile', 'unlink'] as const;
        const { sys, fired } = shimSys(plain, { at, when, only, fault: { errno: 'EIO' } });
        const redo = await openRedo(sys, home).catch(() => openRedo(sys, home));
        const { records, archive } = storesOf(home, { ...sys, redo });
        const write = async (key: string) => {
          await records.putIfAbsent(key, { key });
          await archive.append(stepKey, [entry(key)]);
        };
        await write('a').catch(() => write('a'));
        await redo.cut();
        await write('b').catch(() => write('b'));
        const happened = fired();
        cut(ALL_LOST);
        await replayRedo(realSys, home);
        const after = storesOf(home);
        const ids = (await after.archive.read(stepKey)).map(({ id }) => id);
        expect([when, at, ids]).toEqual([when, at, expect.arrayContaining(['a', 'b'])]);
        for (const key of ['a', 'b']) expect(await after.records.get(key)).toEqual({ key });
        return happened;
      });
    for (const when of ['before', 'after'] as const) for (let at = 1; await fails(when, at); at++);
  });

  test('what a disk failed to sync once, and says that it has afterwards', async () => {
    await withDir(async (home) => {
      const { sys: plain, cut } = watched(home);
      const path = join(home, 'records', 'a.json');
      let failed = false;
      const fsyncFile: Sys['fsyncFile'] = async (of) => {
        if (of !== path) return plain.fsyncFile(of);
        if (failed) return;
        failed = true;
        throw errnoError('EIO', 'fsync', of);
      };
      const redo = await openRedo({ ...plain, fsyncFile }, home);
      await storesOf(home, { ...plain, fsyncFile, redo }).records.putIfAbsent('a', { value: 1 });
      await redo.cut();
      await redo.close();
      // A start of the same boot, after the worker's end.
      const isOwn = `/proc/${process.pid}/stat`;
      const readFile: Sys['readFile'] = (of) =>
        of === isOwn ? Promise.reject(errnoError('ENOENT', 'open', of)) : plain.readFile(of);
      await replayRedo({ ...plain, fsyncFile, readFile }, home);
      expect(failed).toBe(true);
      cut(ALL_LOST);
      await replayRedo(realSys, home);
      expect(await storesOf(home).records.get('a')).toEqual({ value: 1 });
    });
  });

  test('a log is cut in its time, also after a cut that failed', async () => {
    await withDir(async (home) => {
      let full = false;
      const append: Sys['append'] = (path, ...rest) =>
        full ? Promise.reject(errnoError('ENOSPC', 'write', path)) : realSys.append(path, ...rest);
      const sys = { ...realSys, append };
      const redo = await openRedo(sys, home);
      const { records } = storesOf(home, { ...sys, redo });
      jest.useFakeTimers({
        doNotFake: ['Date', 'setImmediate', 'nextTick', 'queueMicrotask', 'performance'],
      });
      try {
        const names = () => realSys.readdir(join(home, 'redo'));
        const before = await names();
        await records.putIfAbsent('a', {});
        full = true;
        await jest.advanceTimersByTimeAsync(60_000);
        await redo.flush();
        full = false;
        await records.putIfAbsent('b', {});
        await jest.advanceTimersByTimeAsync(60_000);
        await redo.flush();
        expect((await names()).filter((name) => !before.includes(name))).toHaveLength(1);
      } finally {
        jest.useRealTimers();
      }
    });
  });

  test('what was written while the log was closed, and after it', async () => {
    await withDir(async (home) => {
      const { sys, cut } = watched(home);
      const slow: Sys = { ...sys, fsyncFile: (path) => sleep(50).then(() => sys.fsyncFile(path)) };
      const redo = await openRedo(slow, home);
      const { records } = storesOf(home, { ...slow, redo });
      await records.putIfAbsent('a', { value: 1 });
      const closed = redo.close();
      await sleep(10);
      await records.putIfAbsent('b', { value: 2 });
      await closed;
      await records.putIfAbsent('c', { value: 3 });
      cut(ALL_LOST);
      await replayRedo(realSys, home);
      const after = storesOf(home).records;
      expect(await Promise.all(['a', 'b', 'c'].map((key) => after.get(key)))).toEqual(
        [1, 2, 3].map((value) => ({ value })),
      );
    });
  });

  test('whoever opens the home beside a worker looks at the logs alone', async () => {
    await withDir(async (home) => {
      const redo = await openRedo(realSys, home);
      await storesOf(home, { ...realSys, redo }).records.putIfAbsent('a', {});
      const listed: string[] = [];
      const readdir: Sys['readdir'] = (path) => realSys.readdir((listed.push(path), path));
      await replayRedo({ ...realSys, readdir }, home);
      expect(listed).toEqual([join(home, 'redo')]);
      await redo.close();
    });
  });

  test('an archive whose first line a full disk tore', async () => {
    await withDir(async (home) => {
      const { sys, cut } = watched(home);
      const { archive } = storesOf(home, { ...sys, redo: await openRedo(sys, home) });
      const path = join(home, 'archive', stepKey, 'log.jsonl');
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, `{"id":"to\n${linesOf([entry('first')])}`);
      await archive.append(stepKey, [entry('last')]);
      cut(ALL_LOST);
      await replayRedo(realSys, home);
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
          const { sys: plain, cut } = watched(home);
          const redo = await openRedo(plain, home);
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
          const journal = journalOf(home, { model, sys: { ...plain, redo }, ...options });
          const first = await journal.ask(askFor());
          await redo.flush();
          cut(randomFrom(seed));

          const never: typeof real = {
            ...real,
            stream: () => Promise.reject(new Error('asked again')),
          };
          await replayRedo(realSys, home);
          const again = journalOf(home, { model: never, ...options });
          expect(await again.ask(askFor())).toMatchObject({ ...first, recorded: true });
          // Of the one that was on its way it is known that it may be paid for.
          await replayRedo(realSys, asSent);
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
      const { sys: plain, cut } = watched(home, (_, path) => {
        if (!isTarget(path)) return;
        cpSync(home, asTouched, { recursive: true, preserveTimestamps: true });
        cut(ALL_LOST, asTouched);
      });
      const redo = await openRedo(plain, home);
      const done = await scene.engine({ sys: { ...plain, redo } }).apply(scene.request);
      expect(done).toMatchObject({ outcome: 'applied' });
      await redo.flush();
      cut(randomFrom(seed));
      await replayRedo(realSys, home);
      expect(await scene.engine().apply(scene.request)).toEqual(done);
      await replayRedo(realSys, asTouched);
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
