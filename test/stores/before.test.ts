/** What is durable before what (docs/architecture.md): names and bytes that a power cut could still take back, at the moments that count. */
import { dirname, join } from 'node:path';
import { expect, test } from '@jest/globals';
import { createDiskJournal } from '../../src/model/journal/index.js';
import { createArchive } from '../../src/stores/directory/archive.js';
import { createBlobStore } from '../../src/stores/directory/blobs.js';
import { errnoOf, realSys, type Sys } from '../../src/system/sys.js';
import { askFor, modelAt, rule, withDir, withRehearsal } from '../model/support.js';
import { makeScene } from '../workspace/apply-scene.js';

/** `open`: what was made, renamed or written below `dir` and not synced since, by its path there. */
const watched = (dir: string, seen: (call: keyof Sys, path: string) => void = () => undefined) => {
  const names = new Set<string>();
  const bytes = new Set<string>();
  const made = async (path: string, work: Promise<void>): Promise<void> => {
    await work;
    names.add(path);
  };
  const sys: Sys = {
    ...realSys,
    writeExclusive: (path, content, file) => made(path, realSys.writeExclusive(path, content, file)),
    append: async (path, content, later) => {
      const isNew = await realSys.lstat(path).then(
        () => false,
        (error: unknown) => errnoOf(error) === 'ENOENT',
      );
      const written = await realSys.append(path, content, later);
      if (isNew) names.add(path);
      if (later === undefined) bytes.delete(path);
      else bytes.add(path);
      return written;
    },
    link: (from, to) => made(to, realSys.link(from, to)),
    mkdir: (path, mode) => made(path, realSys.mkdir(path, mode)),
    rename: async (from, to) => {
      seen('rename', from);
      await made(to, realSys.rename(from, to));
      names.delete(from);
    },
    unlink: async (path) => {
      await realSys.unlink(path);
      names.delete(path);
    },
    fsyncDir: async (path) => {
      await realSys.fsyncDir(path);
      for (const name of names) if (dirname(name) === path) names.delete(name);
    },
  };
  const open = (): string[] =>
    [...names, ...bytes].filter((path) => path.startsWith(`${dir}/`)).map((path) => path.slice(dir.length + 1));
  return { sys, open };
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
      const journal = createDiskJournal({ dir: join(dir, 'calls'), model, callOwner_ms: 1000, heartbeat_ms: 200, sys });
      expect(await journal.ask(askFor())).toMatchObject({ outcome: 'answered' });
      expect(sent).toEqual([[]]);
      expect(open()).toEqual([]);
    }),
  );
});

test('plan and verdict are durable before a file is touched, the outcome before it is told', async () => {
  const scene = await makeScene([{ path: 'a.txt', before: 'one\n', after: 'two\n' }]);
  const touched: string[][] = [];
  const { sys, open } = watched(scene.root, (call, path) => {
    if (call === 'rename' && path === scene.at('a.txt')) touched.push(open());
  });
  expect(await scene.engine({ sys }).apply(scene.request)).toMatchObject({ outcome: 'applied' });
  expect(touched).toEqual([[]]);
  expect(open()).toEqual([]);
  scene.remove();
});

test('what an activity begins with is seen at once, and durable with what it ends with', async () => {
  await withDir(async (dir) => {
    const { sys, open } = watched(dir);
    const archive = createArchive({ dir, sys });
    const stepKey = '0123456789abcdef0123456789abcdef';
    const entry = (id: string) => ({ id, at: '2026-01-01T00:00:00Z', kind: 'event', data: {} }) as const;
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
    const died = createBlobStore({ dir, sys: { ...sys, fsyncDir: () => Promise.reject(new Error('killed')) } });
    await expect(died.put(bytes)).rejects.toThrow();
    expect(other.open()).not.toEqual([]);
    const store = createBlobStore({ dir, sys });
    await store.has(await store.put(bytes));
    expect(other.open().filter((path) => path.includes('/'))).toEqual([]);
  });
});
