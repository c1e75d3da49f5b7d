/** Every system call of an apply fails once, or from some call on: nothing half-written, and what was promised is kept. */
import * as fs from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { ProblemError } from '../../src/shared/problems.js';
import { realSys } from '../../src/system/sys.js';
import type { ApplyOutcome } from '../../src/workspace/ports.js';
import { drawn, sampled, WHOLE } from '../support/seeded.js';
import { errnoError, shimSys, type ShimPlan } from '../support/sys-shim.js';
import { testIf } from '../support/skipped.js';
import { leftovers, makeScene, mixedFiles, sidesOf } from './apply-scene.js';

const FILES = mixedFiles(5);
const attempts: { errno: string; short?: boolean; onwards?: boolean; when: 'before' | 'after' }[] = [
  { errno: 'ENOSPC', when: 'before' },
  { errno: 'ENOSPC', when: 'before', short: true },
  { errno: 'ENOSPC', when: 'before', onwards: true },
  { errno: 'EIO', when: 'before' },
  { errno: 'EIO', when: 'after' },
  { errno: 'EIO', when: 'before', onwards: true },
  { errno: 'EACCES', when: 'before' },
  { errno: 'EROFS', when: 'before', onwards: true },
];

describe.each(attempts)('$errno, $when the call, short $short, onwards $onwards', ({ errno, when, ...more }) => {
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
      if (outcome instanceof ProblemError) expect({ at, code: outcome.problem.code }).toEqual({ at, code: 'disk' });
      else if (outcome.outcome === 'failed') {
        expect({ at, sides: sides() }).toEqual({ at, sides: ['old'] });
        expect(outcome.problem.message).toContain(errno);
        expect(outcome.problem.message).toMatch(/ at .*\/|workspace/);
      } else expect({ at, told, sides: sides() }).toEqual({ at, told: 'applied', sides: ['new'] });

      const [recovered] = await scene.engine().recover();
      expect(recovered?.did ?? 'reverted').toMatch(/finished|reverted/);
      // What was told is not changed by recovery.
      if (told === 'failed') expect({ at, sides: sides() }).toEqual({ at, sides: ['old'] });
      expect({ at, sides: sides().length, other: sides().includes('other') }).toEqual({ at, sides: 1, other: false });
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
});

describe('filesystems that cannot do everything', () => {
  test('without hard links results are copied, and stores still have one winner', async () => {
    const scene = await makeScene(mixedFiles(6));
    const sys = { ...realSys, link: (_: string, path: string) => Promise.reject(errnoError('EPERM', 'link', path)) };
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
      await expect(scene.engine({ sys }).apply(scene.request)).rejects.toMatchObject({ problem: { code: 'disk' } });
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
      expect(await scene.engine().apply(scene.request)).toMatchObject({ outcome: 'failed', problem: { code: 'disk' } });
      fs.chmodSync(scene.at('src'), 0o755);
      expect(new Set(sidesOf(scene))).toEqual(new Set(['old']));
      expect(leftovers(scene.workspace)).toEqual([]);
      scene.remove();
    },
  );
});
