/** Every system call of an apply fails once, or from some call on: nothing half-written, and what was promised is kept. */
import * as fs from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { ProblemError } from '../../src/shared/problems.js';
import { realSys } from '../../src/system/sys.js';
import type { ApplyOutcome } from '../../src/workspace/ports.js';
import { drawn, sampled, WHOLE } from '../support/seeded.js';
import { errnoError, shimSys, type ShimPlan } from '../support/sys-shim.js';
import { testIf } from '../support/skipped.js';
import { leftovers, makeScene, mixedFiles, sidesOf, STEP } from './apply-scene.js';

const FILES = mixedFiles(5);
const attempts: { errno: string; short?: boolean; onwards?: boolean; when: 'before' | 'after' }[] =
  [
    { errno: 'ENOSPC', when: 'before' },
    { errno: 'ENOSPC', when: 'before', short: true },
    { errno: 'ENOSPC', when: 'before', onwards: true },
    { errno: 'EIO', when: 'before' },
    { errno: 'EIO', when: 'after' },
    { errno: 'EIO', when: 'before', onwards: true },
    { errno: 'EACCES', when: 'before' },
    { errno: 'EROFS', when: 'before', onwards: true },
  ];

describe.each(attempts)(
  '$errno, $when the call, short $short, onwards $onwards',
  ({ errno, when, ...more }) => {
    test('at every system call', async () => {
      const counted = await makeScene(FILES);
      const count = shimSys(realSys);
      await counted.engine({ sys: count.sys }).apply(counted.request);
      counted.remove();
      const tally: Record<string, number> = {};
      for (const at of sampled(
        `faults ${errno}`,
        Array.from({ length: count.calls() }, (_, i) => i + 1),
        drawn(2, 70),
        [],
        WHOLE,
      )) {
        const scene = await makeScene(FILES);
        const fault: ShimPlan['fault'] = more.short === true ? { errno, short: true } : { errno };
        const shim = shimSys(realSys, { at, when, fault, onwards: more.onwards ?? false });
        let outcome: ApplyOutcome | ProblemError;
        try {
          outcome = await scene.engine({ sys: shim.sys }).apply(scene.request);
        } catch (error) {
          if (!(error instanceof ProblemError))
            throw new Error(`at ${at}: no problem but ${String(error)}`, { cause: error });
          outcome = error;
        }
        expect(shim.fired()).toBe(true);
        const told = outcome instanceof ProblemError ? 'thrown' : outcome.outcome;
        tally[told] = (tally[told] ?? 0) + 1;
        const sides = () => [...new Set(sidesOf(scene))];
        if (outcome instanceof ProblemError)
          expect({ at, code: outcome.problem.code }).toEqual({ at, code: 'disk' });
        else if (outcome.outcome === 'failed') {
          expect({ at, sides: sides() }).toEqual({ at, sides: ['old'] });
          expect(outcome.problem.message).toContain(errno);
          expect(outcome.problem.message).toMatch(/ at .*\/|workspace/);
        } else
          expect({ at, told, sides: sides() }).toEqual({ at, told: 'applied', sides: ['new'] });

        const [recovered] = await scene.engine().recover();
        expect(recovered?.did ?? 'reverted').toMatch(/finished|reverted/);
        // What was told is not changed by recovery.
        if (told === 'failed') expect({ at, sides: sides() }).toEqual({ at, sides: ['old'] });
        expect({ at, sides: sides().length, other: sides().includes('other') }).toEqual({
          at,
          sides: 1,
          other: false,
        });
        expect({ at, left: leftovers(scene.workspace) }).toEqual({ at, left: [] });
        expect(await scene.engine().apply(scene.request)).toMatchObject({
          outcome: 'applied',
          files: scene.request.files,
        });
        expect({ at, sides: sides() }).toEqual({ at, sides: ['new'] });
        expect(leftovers(scene.workspace)).toEqual([]);
        scene.remove();
      }
      process.stdout.write(`${errno}: ${JSON.stringify(tally)}\n`);
      expect(Object.keys(tally).length).toBeGreaterThan(0);
    }, 600_000);
  },
);

test('a verdict that is lost after the first file was touched is one for it: no file is left on the other side', async () => {
  const counted = await makeScene(FILES);
  const count = shimSys(realSys);
  await counted.engine({ sys: count.sys }).apply(counted.request);
  counted.remove();
  const halves: string[] = [];
  for (let at = count.calls(), begun = true; begun; at -= drawn(5, 1)) {
    const scene = await makeScene(FILES);
    const { sys } = shimSys(realSys, {
      at,
      when: 'before',
      fault: { errno: 'EIO' },
      onwards: true,
    });
    await scene
      .engine({ sys })
      .apply(scene.request)
      .catch(() => null);
    const records = join(scene.home, 'transactions', STEP);
    const record = fs.existsSync(records) ? join(records, fs.readdirSync(records)[0] ?? '') : '';
    const names = record === '' ? [] : fs.readdirSync(record);
    const sides = () => [...new Set(sidesOf(scene))];
    begun = names.includes('verdict-1.json');
    if (begun && !names.includes('closed.json')) {
      if (sides().length > 1) halves.push(`${at}`);
      fs.rmSync(join(record, 'verdict-1.json'));
      await scene.engine().recover();
      expect({ at, sides: sides().length, other: sides().includes('other') }).toEqual({
        at,
        sides: 1,
        other: false,
      });
      expect({ at, left: leftovers(scene.workspace) }).toEqual({ at, left: [] });
    }
    scene.remove();
  }
  expect(halves.length).toBeGreaterThan(2);
}, 600_000);

const PUT_BACK = [{ errno: 'ENOSPC', short: true }, 'dies'] as const;
test.each(PUT_BACK)(
  'files put back after tests, %j at every system call: what it leaves is found again',
  async (how) => {
    const begin = async () => {
      const scene = await makeScene(FILES);
      await scene.engine().apply(scene.request);
      for (const { path, after } of FILES)
        if (after !== null) fs.writeFileSync(scene.at(path), 'tests wrote this\n');
      return {
        ...scene,
        found: await scene.engine().differing(scene.workspace, scene.request.proposal.files),
      };
    };
    const given = how === 'dies' ? { process: { boot: 'another', pid: 1, started: '1' } } : {};
    const counted = await begin();
    const count = shimSys(realSys);
    await counted
      .engine({ sys: count.sys, ...given })
      .putBack(counted.workspace, STEP, counted.found);
    counted.remove();
    const all = count.names().map((_, i) => i + 1);
    for (const at of sampled(`put back, ${JSON.stringify(how)}`, all, drawn(3, 70), [], WHOLE)) {
      const scene = await begin();
      const fault = how === 'dies' ? { errno: 'EIO' } : how;
      const shim = shimSys(realSys, { at, when: 'before', fault, onwards: how === 'dies' });
      const done = await scene
        .engine({ sys: shim.sys, ...given })
        .putBack(scene.workspace, STEP, scene.found)
        .catch((error: unknown) => error);
      if (done !== undefined) expect(done).toMatchObject({ problem: { code: 'disk' } });
      expect(shim.fired()).toBe(true);
      for (const { did } of await scene.engine().recover())
        expect(did).toMatch(/finished|reverted/);
      expect({ at, left: leftovers(scene.workspace) }).toEqual({ at, left: [] });
      await scene.engine().putBack(scene.workspace, STEP, scene.found);
      expect({ at, sides: [...new Set(sidesOf(scene))] }).toEqual({ at, sides: ['new'] });
      scene.remove();
    }
  },
  600_000,
);

test('put back after tests: a directory in the way goes only where it is empty, and is named where it is not', async () => {
  const scene = await makeScene([{ path: 'a.txt', before: 'old\n', after: 'new\n' }]);
  await scene.engine().apply(scene.request);
  fs.rmSync(scene.at('a.txt'));
  fs.mkdirSync(scene.at('a.txt'));
  fs.writeFileSync(scene.at('a.txt/theirs'), 'saved\n');
  const { engine, workspace } = scene;
  const back = async () =>
    engine().putBack(
      workspace,
      STEP,
      await engine().differing(workspace, scene.request.proposal.files),
    );
  await expect(back()).rejects.toThrow('a.txt: expected nothing, found a directory');
  expect(fs.readFileSync(scene.at('a.txt/theirs'), 'utf8')).toBe('saved\n');
  fs.rmSync(scene.at('a.txt/theirs'));
  await back();
  expect(sidesOf(scene)).toEqual(['new']);
  scene.remove();
});

test('a directory that a link took the place of: what lies there is left alone and named, put back or rolled back', async () => {
  const scene = await makeScene([{ path: 'd/a.txt', before: 'old\n', after: 'new\n' }]);
  await scene.engine().apply(scene.request);
  fs.renameSync(scene.at('d'), scene.at('moved'));
  fs.symlinkSync('moved', scene.at('d'));
  const { engine, workspace, request } = scene;
  const found = await engine().differing(workspace, request.proposal.files);
  const why = 'd/a.txt: a link in its place leads to moved/a.txt';
  await expect(engine().putBack(workspace, STEP, found)).rejects.toThrow(why);
  expect(await engine().rollback(request)).toMatchObject({
    files: [],
    leftAlone: [{ path: 'd/a.txt', why }],
  });
  expect([fs.readFileSync(scene.at('moved/a.txt'), 'utf8'), leftovers(workspace)]).toEqual([
    'new\n',
    [],
  ]);
  scene.remove();
});

describe('filesystems that cannot do everything', () => {
  test('without hard links results are copied, and stores still have one winner', async () => {
    const scene = await makeScene(mixedFiles(6));
    const sys = {
      ...realSys,
      link: (_: string, path: string) => Promise.reject(errnoError('EPERM', 'link', path)),
    };
    expect(await scene.engine({ sys }).apply(scene.request)).toMatchObject({ outcome: 'applied' });
    expect(new Set(sidesOf(scene))).toEqual(new Set(['new']));
    expect(leftovers(scene.workspace)).toEqual([]);
    expect(await scene.engine({ sys }).rollback(scene.request)).toMatchObject({
      files: scene.request.files,
      leftAlone: [],
    });
    expect(new Set(sidesOf(scene))).toEqual(new Set(['old']));
    scene.remove();
  });

  test('a disk that stays broken after the point of no return: the record stays open, and a later apply finishes it', async () => {
    const scene = await makeScene(FILES);
    let committed = false;
    const sys = {
      ...realSys,
      link: async (from: string, to: string) => {
        if (committed && !to.includes(scene.home)) throw errnoError('EIO', 'link', to);
        await realSys.link(from, to);
        if (/verdict-\d+\.json$/.test(to)) committed = true;
      },
    };
    for (let i = 0; i < 2; i++)
      await expect(scene.engine({ sys }).apply(scene.request)).rejects.toMatchObject({
        problem: { code: 'disk' },
      });
    expect(committed).toBe(true);
    expect(await scene.engine().apply(scene.request)).toMatchObject({ outcome: 'applied' });
    expect(new Set(sidesOf(scene))).toEqual(new Set(['new']));
    expect(leftovers(scene.workspace)).toEqual([]);
    scene.remove();
  });

  testIf(process.getuid?.() !== 0, 'root may write everywhere')(
    'an unwritable directory: failed, nothing changed',
    async () => {
      const scene = await makeScene(FILES);
      fs.chmodSync(scene.at('src'), 0o555);
      expect(await scene.engine().apply(scene.request)).toMatchObject({
        outcome: 'failed',
        problem: { code: 'disk' },
      });
      fs.chmodSync(scene.at('src'), 0o755);
      expect(new Set(sidesOf(scene))).toEqual(new Set(['old']));
      expect(leftovers(scene.workspace)).toEqual([]);
      scene.remove();
    },
  );
});
