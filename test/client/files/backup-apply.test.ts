/** A home is backed up in the middle of a change of a workspace, and restored: recovery finishes the change or takes it back, as after a kill. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { backUp } from '../../../src/client/files/backup.js';
import { restoreBackup } from '../../../src/client/files/restore.js';
import { hostId } from '../../../src/stores/home.js';
import { realSys } from '../../../src/system/sys.js';
import { sampled } from '../../support/seeded.js';
import { shimSys } from '../../support/sys-shim.js';
import {
  leftovers,
  makeScene,
  mixedFiles,
  sidesOf,
  type Scene,
} from '../../workspace/apply-scene.js';

const FILES = mixedFiles(6);
/** A process that has ended. */
const DEAD = { boot: 'another-boot', pid: 1, started: '1' };
const CALLS = 16; // of the hundred or so of one apply, those at which `npm test` makes a backup

/** `meanwhile`: the apply does not wait for the backup. */
type Ending = 'dies there' | 'goes on afterwards' | 'goes on meanwhile';

const callsOfApply = async (git: boolean): Promise<readonly number[]> => {
  const scene = await makeScene(FILES, { git });
  const count = shimSys(realSys);
  expect(await scene.engine({ sys: count.sys, process: DEAD }).apply(scene.request)).toMatchObject({
    outcome: 'applied',
  });
  scene.remove();
  return Array.from({ length: count.calls() }, (_, index) => index + 1);
};

/** Makes a backup before the call of an apply, which then dies or goes on to its end. The home is lost, and the backup takes its place. */
const restoredAt = async (scene: Scene, call: number, ending: Ending): Promise<void> => {
  const file = join(scene.root, 'home.backup');
  await hostId(scene.home);
  const copy: { backup: Promise<unknown> | null } = { backup: null };
  const shim = shimSys(realSys, {
    at: call,
    when: 'before',
    onwards: true,
    fault: async () => {
      copy.backup ??= backUp(scene.home, file);
      if (ending !== 'goes on meanwhile') await copy.backup;
      if (ending === 'dies there')
        throw Object.assign(new Error('EIO: the process is dead'), { code: 'EIO' });
    },
  });
  const outcome = await scene
    .engine({ sys: shim.sys, process: DEAD })
    .apply(scene.request)
    .catch(() => null);
  expect(shim.fired()).toBe(true);
  if (ending !== 'dies there') expect(outcome).toMatchObject({ outcome: 'applied' });
  await copy.backup;
  rmSync(scene.home, { recursive: true });
  await restoreBackup(file, scene.home);
};

describe.each([
  { git: false, ending: 'dies there' },
  { git: true, ending: 'dies there' },
  { git: false, ending: 'goes on afterwards' },
  { git: true, ending: 'goes on afterwards' },
  { git: false, ending: 'goes on meanwhile' },
  { git: true, ending: 'goes on meanwhile' },
] as const)('a backup before a call of an apply that $ending (git: $git)', ({ git, ending }) => {
  test('all files are new or all are old, and the apply ends the same when it is made again', async () => {
    const calls = await callsOfApply(git);
    for (const call of sampled(`backups, ${ending}, ${git}`, calls, CALLS)) {
      const scene = await makeScene(FILES, { git });
      await restoredAt(scene, call, ending);
      const engine = scene.engine();
      const recovered = await engine.recover();
      const sides = [...new Set(sidesOf(scene))];
      expect({ call, recovered, sides, left: leftovers(scene.workspace) }).toEqual({
        call,
        recovered: recovered.map((change) => ({
          ...change,
          did: expect.stringMatching(/^(?:finished|reverted)$/),
          conflicts: [],
        })),
        sides: [ending !== 'dies there' ? 'new' : expect.stringMatching(/^(?:new|old)$/)],
        left: [],
      });
      expect(await engine.recover()).toEqual([]);
      const again = await engine.apply(scene.request);
      expect({ call, outcome: again.outcome, sides: sidesOf(scene) }).toEqual({
        call,
        outcome: 'applied',
        sides: FILES.map(() => 'new'),
      });
      scene.remove();
    }
  });
});
