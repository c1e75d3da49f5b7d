/** What gc takes of whole steps, and that it takes nothing from beside processes that write. */
import { execFileSync } from 'node:child_process';
import { mkdir, readdir, rename, utimes, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { findUnused, removeUnused } from '../../../src/client/gc/index.js';
import { GC_RUNS } from '../../../src/client/gc/steps.js';
import type { Emend } from '../../../src/client/types.js';
import type { BlobRef } from '../../../src/shared/ids.js';
import { createApplyEngine } from '../../../src/workspace/apply/engine.js';
import { createBlobStore, removeBlob, diskFiles } from '../../../src/stores/directory/blobs.js';
import { makeScene, requestOf } from '../../workspace/apply-scene.js';
import {
  closedRecord,
  fakeEmend,
  FakeServer,
  planRecord,
  startedData,
  problemOf,
  NOTHING_UNUSED,
} from '../fake.js';
import { holds } from '../../support/blobs.js';

const keyOf = (n: number): string => `${n}`.repeat(8).padEnd(32, '0');
const CALL_KEY = 'f'.repeat(64);
const put = (emend: Emend, text: string): Promise<BlobRef> =>
  emend.blobs.put(new TextEncoder().encode(text));
const pathOf = (emend: Emend, ref: BlobRef): string =>
  join(emend.home, 'blobs', ref.slice(7, 9), ref.slice(7));
const write = async (emend: Emend, path: string, value: object): Promise<void> => {
  await mkdir(dirname(join(emend.home, path)), { recursive: true });
  await writeFile(join(emend.home, path), JSON.stringify({ v: 2, ...value }));
};
const ENDED = {
  id: 'end',
  at: '',
  kind: 'event',
  data: { seq: 1, at: 0, type: 'step_finished', outcome: 'applied' },
} as const;
/** Everything that a step leaves behind; `ended` as its archive tells. */
const step = async (
  emend: Emend,
  n: number,
  ended: boolean,
): Promise<{ key: string; answer: BlobRef; shown: BlobRef }> => {
  const key = keyOf(n);
  const answer = await put(emend, `named by the call of ${n} only`);
  const shown = await put(emend, `named by the archive of ${n}`);
  const callKey = `${CALL_KEY.slice(1)}${n}`;
  await write(emend, `calls/${key}/${callKey}/call.json`, { answer });
  await write(emend, `records/steps/${key}/preflight-1.json`, {});
  await write(emend, `records/steps/${key}/shown-${callKey}.json`, {});
  await write(emend, `transactions/${key}/p-1/plan-1.json`, planRecord(key));
  await write(emend, `transactions/${key}/p-1/closed.json`, closedRecord(key));
  await emend.archive.append(key, [
    { id: '1', at: '', kind: 'activity', data: { name: 'buildProposal', result: { shown } } },
    ...(ended ? [ENDED] : []),
  ]);
  return { key, answer, shown };
};
const ALL = { olderThan_ms: -1000 };

test('a step whose log is empty, or cut within its first line, is none that came to nothing: it stays', async () => {
  const emend = await fakeEmend(new FakeServer());
  for (const n of [1, 2, 3]) await step(emend, n, true);
  const logOf = (n: number): string => join(emend.home, 'archive', keyOf(n), 'log.jsonl');
  await writeFile(logOf(2), '');
  await writeFile(logOf(3), '{"v":2,"id":"1","a');
  expect((await findUnused(emend, ALL)).steps.map(({ stepKey }) => stepKey)).toEqual([keyOf(1)]);
});

test('what a rollback noted in git goes with the archive of its run, and is shown before; that of other runs stays', async () => {
  const emend = await fakeEmend(new FakeServer());
  const scene = await makeScene([{ path: 'a.txt', before: 'old\n', after: 'new\n' }], {
    git: true,
  });
  const git = (...args: string[]): string =>
    execFileSync('git', args, { cwd: scene.workspace, encoding: 'utf8' });
  const notes = (): readonly string[] =>
    git('for-each-ref', '--format=%(refname)', 'refs/worktree/emend/')
      .split('\n')
      .filter((ref) => ref !== '');
  const engine = createApplyEngine({
    home: emend.home,
    blobs: createBlobStore({ dir: join(scene.home, 'blobs') }),
  });
  for (const key of [keyOf(1), keyOf(2)]) {
    const request = requestOf(scene.workspace, scene.files, 1, key);
    expect(await engine.apply(request)).toMatchObject({ outcome: 'applied' });
    expect(await engine.rollback(request)).toMatchObject({
      outcome: 'rolled_back',
      files: ['a.txt'],
    });
    await engine.releaseLock(scene.workspace, key);
    const data = startedData({ workspace: scene.workspace });
    await emend.archive.append(key, [
      { id: 'started', at: '', kind: 'started', data },
      ...(key === keyOf(1) ? [ENDED] : []),
    ]);
  }
  expect(notes()).toHaveLength(2);
  // Its transactions go first; the archive says where it worked.
  const first = await findUnused(emend, ALL);
  expect(first).toMatchObject({ steps: [{ stepKey: keyOf(1), archive: false }], notes: [] });
  await removeUnused(emend, first);
  expect(notes()).toHaveLength(2);
  const found = await findUnused(emend, { ...ALL, archivesOlderThan_ms: -1000 });
  expect(found.notes).toMatchObject([
    { workspace: scene.workspace, names: [expect.stringContaining(keyOf(1))] },
  ]);
  expect(notes()).toHaveLength(2);
  expect(await removeUnused(emend, found)).toMatchObject({ notesRemoved: 1 });
  expect(notes()).toEqual([expect.stringContaining(`/reverted/${keyOf(2)}/`)]);
  scene.remove();
});

describe('steps that have ended', () => {
  test('lose recorded calls, records and transactions, keep their archive and what it names; others keep all', async () => {
    const server = new FakeServer();
    const emend = await fakeEmend(server);
    const old = await step(emend, 1, true);
    const open = await step(emend, 2, false);
    const known = await step(emend, 3, true);
    const writing = await step(emend, 4, true);
    await write(emend, `transactions/${writing.key}/p-2/plan-1.json`, planRecord(writing.key));
    // Closed, but the server still has it: somebody may reset it.
    server.close(server.add(known.key, 'emend-3'), {
      status: 'COMPLETED',
      result: null,
      message: null,
    });

    const found = await findUnused(emend, ALL);
    expect(found.steps.map((each) => [each.stepKey, each.archive])).toEqual([[old.key, false]]);
    expect(found.blobs.map(({ path }) => path)).toEqual([pathOf(emend, old.answer)]);
    const bytes = [...found.blobs, ...found.steps.flatMap((each) => each.files)].reduce(
      (sum, f) => sum + f.bytes,
      0,
    );
    expect(await removeUnused(emend, found)).toEqual({ notesRemoved: 0, files: 6, bytes });
    for (const place of ['calls', 'records/steps', 'transactions'])
      expect((await readdir(join(emend.home, place))).sort()).toEqual([
        open.key,
        known.key,
        writing.key,
      ]);
    expect(await emend.archive.names()).toHaveLength(4);
    expect(await holds(emend.blobs, old.answer)).toBe(false);
    for (const ref of [old.shown, open.answer, known.answer, writing.answer])
      expect(await holds(emend.blobs, ref)).toBe(true);
    expect(await findUnused(emend, ALL)).toEqual(NOTHING_UNUSED);
  });

  test('lose their archive, with what it names, where an age is given for archives', async () => {
    const emend = await fakeEmend(new FakeServer());
    const old = await step(emend, 1, true);
    const young = await step(emend, 2, true);
    const log = join(emend.home, 'archive', old.key, 'log.jsonl');
    const longAgo = new Date(Date.now() - 40 * 86_400_000);
    await utimes(log, longAgo, longAgo);
    // What is said of a file's age is its newest change, and utimes is one: only all archives can be asked for here.
    const none = await findUnused(emend, { ...ALL, archivesOlderThan_ms: 86_400_000 });
    expect(none.steps.filter((each) => each.archive)).toEqual([]);
    const found = await findUnused(emend, { ...ALL, archivesOlderThan_ms: -1000 });
    expect(found.steps.map((each) => each.archive)).toEqual([true, true]);
    await removeUnused(emend, found);
    expect(await emend.archive.names()).toEqual([]);
    for (const ref of [old.shown, old.answer, young.shown])
      expect(await holds(emend.blobs, ref)).toBe(false);
  });

  test('stay where something was written to them since they were found', async () => {
    const emend = await fakeEmend(new FakeServer());
    const { key } = await step(emend, 1, true);
    const found = await findUnused(emend, ALL);
    await write(emend, `calls/${key}/${'e'.repeat(64)}/call.json`, {});
    await removeUnused(emend, found);
    expect(await readdir(join(emend.home, 'calls', key))).toHaveLength(2);
  });

  test('young ones stay; more runs than can be looked through are refused', async () => {
    const server = new FakeServer();
    const emend = await fakeEmend(server);
    await step(emend, 1, true);
    expect(await findUnused(emend, { olderThan_ms: 60_000 })).toEqual(NOTHING_UNUSED);
    const known = server.add('a', 'b').described;
    server.list = async () => Array.from({ length: 20_000 }, () => known);
    expect(await findUnused(emend, { olderThan_ms: 60_000 })).toEqual(NOTHING_UNUSED);
    server.list = async () => new Array<typeof known>(GC_RUNS).fill(known);
    expect(await problemOf(() => findUnused(emend, ALL))).toMatchObject({ code: 'limit_reached' });
  });
});

test('a clock that jumped ahead a year makes nothing old', async () => {
  const emend = await fakeEmend(new FakeServer());
  const ref = await put(emend, 'put a moment ago, not named yet');
  const now = Date.now;
  try {
    Date.now = () => now() + 365 * 86_400_000;
    expect((await findUnused(emend, { olderThan_ms: 7 * 86_400_000 })).blobs).toEqual([]);
    // A day back: nothing is old either.
    Date.now = () => now() - 86_400_000;
    expect((await findUnused(emend, { olderThan_ms: 7 * 86_400_000 })).blobs).toEqual([]);
  } finally {
    Date.now = now;
  }
  expect(await holds(emend.blobs, ref)).toBe(true);
});

describe('beside a process that puts blobs', () => {
  test('a blob that was put again after it was found stays', async () => {
    const emend = await fakeEmend(new FakeServer());
    const refs = [await put(emend, 'one'), await put(emend, 'two'), await put(emend, 'three')];
    const found = await findUnused(emend, ALL);
    expect(found.blobs).toHaveLength(3);
    await new Promise((resolve) => setTimeout(resolve, 20));
    await Promise.all(['one', 'two'].map((text) => put(emend, text)));
    expect((await removeUnused(emend, found)).files).toBe(1);
    expect(await Promise.all(refs.map((ref) => holds(emend.blobs, ref)))).toEqual([
      true,
      true,
      false,
    ]);
  });

  test('what a dead removal left aside is read, and goes back where it, or what it names, is named', async () => {
    const emend = await fakeEmend(new FakeServer());
    const inner = await put(emend, 'named by one that is aside');
    const refs = [await put(emend, JSON.stringify({ inner })), await put(emend, 'named by nobody')];
    const [named, other] = refs.map((ref) => pathOf(emend, ref));
    for (const path of [named!, other!]) await rename(path, `${path}.GC`);
    expect(Buffer.from(await emend.blobs.get(refs[1]!)).toString()).toBe('named by nobody');
    await emend.archive.append(keyOf(1), [
      { id: '1', at: '', kind: 'activity', data: { ref: refs[0] } },
    ]);
    await removeUnused(emend, await findUnused(emend, ALL));
    expect([named!, other!, `${named}.GC`, `${other}.GC`].map((path) => existsSync(path))).toEqual([
      true,
      false,
      false,
      false,
    ]);
    expect(await holds(emend.blobs, inner)).toBe(true);
  });

  test('what is named is found, while all that is not named is taken over and over', async () => {
    const { blobs, home } = await fakeEmend(new FakeServer());
    const texts = Array.from({ length: 20 }, (_, n) => new TextEncoder().encode(`blob ${n}`));
    const named = new Set<BlobRef>();
    const seen = { removed: 0, rounds: 0, stop: false };
    // Longer than a put takes from its first write to the name, as gcMinAge_ms is.
    const OLD_MS = 300;
    await Promise.all(texts.map((bytes) => blobs.put(bytes)));
    const putter = async (bytes: Uint8Array): Promise<void> => {
      while (!seen.stop) {
        const ref = await blobs.put(bytes);
        named.add(ref);
        for (let look = 0; look < 5; look++)
          expect(await blobs.get(ref)).toHaveLength(bytes.length);
        named.delete(ref);
        seen.rounds++;
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 3 * OLD_MS));
      }
    };
    // As findUnused and removeUnused do: look at ages, then at names, then remove what was not touched since.
    const collector = async (): Promise<void> => {
      while (!seen.stop)
        for (const file of await diskFiles.list(join(home, 'blobs'))) {
          if (!/\/[0-9a-f]{64}$/.test(file.path)) continue;
          if (Date.now() - file.written_ms < OLD_MS || named.has(`sha256:${basename(file.path)}`))
            continue;
          await new Promise((resolve) => setTimeout(resolve, Math.random() * 4));
          if (await removeBlob(file.path, file.written_ms)) seen.removed++;
        }
    };
    const all = [collector(), ...texts.map(putter)].map((work) =>
      work.finally(() => {
        seen.stop = true;
      }),
    );
    const end = Date.now() + 20_000;
    while (!seen.stop && (seen.removed < 15 || seen.rounds < 60) && Date.now() < end)
      await new Promise((resolve) => setTimeout(resolve, 20));
    seen.stop = true;
    await Promise.all(all);
    expect(seen.removed).toBeGreaterThan(5);
  }, 30_000);
});
