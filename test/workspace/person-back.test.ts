/** A person saves at every step of a rollback and of a recovery: no saved byte is lost. EMEND_WHOLE=1 runs every step. */
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { realSys, type Sys } from '../../src/system/sys.js';
import type { ConflictFile } from '../../src/workspace/ports.js';
import { drawn, sampled, spread, WHOLE } from '../support/seeded.js';
import { shimSys } from '../support/sys-shim.js';
import { leftovers, makeScene, sidesOf, STEP, type Scene, type SceneFile } from './apply-scene.js';

const FILES: readonly SceneFile[] = [
  { path: 'a.txt', before: 'old a\n', after: 'new a\n' },
  { path: 'made.txt', before: null, after: 'new made\n' },
  { path: 'gone.txt', before: 'old gone\n', after: null },
  { path: 'z.txt', before: 'old z\n', after: 'new z\n' },
];
const SAVED = "a person's bytes\n";
/** A process that is dead for everybody else. */
const DEAD = { boot: 'another-boot', pid: 1, started: '1' };

const SAVES: Record<string, (path: string) => void> = {
  'in place': (path) => {
    fs.writeFileSync(path, SAVED);
  },
  'by rename': (path) => {
    fs.writeFileSync(`${path}.editor`, SAVED);
    fs.renameSync(`${path}.editor`, path);
  },
};

interface Back {
  readonly prepare: (scene: Scene) => Promise<void>;
  /** Ends with what it told of files that it left alone. */
  readonly work: (scene: Scene, sys: Sys) => Promise<readonly ConflictFile[]>;
  /** Where the undisturbed files are in the end. */
  readonly side: 'old' | 'new';
}
/** An apply that gets nothing more done from its second rename on, after the point of no return. */
const halfApplied = async (scene: Scene): Promise<void> => {
  const dying = shimSys(realSys, {
    at: 2,
    when: 'before',
    fault: { errno: 'EIO' },
    onwards: true,
    only: ['rename'],
  });
  await expect(
    scene.engine({ sys: dying.sys, process: DEAD }).apply(scene.request),
  ).rejects.toThrow('EIO');
};
const BACKS: Record<string, Back> = {
  rollback: {
    prepare: async (scene) => {
      expect(await scene.engine().apply(scene.request)).toMatchObject({ outcome: 'applied' });
    },
    work: async (scene, sys) => {
      const done = await scene.engine({ sys }).rollback(scene.request);
      if (done.outcome !== 'rolled_back') throw new Error(JSON.stringify(done));
      return done.leftAlone;
    },
    side: 'old',
  },
  recovery: {
    prepare: halfApplied,
    work: async (scene, sys) => {
      const [found] = await scene.engine({ sys }).recover();
      expect(found).toMatchObject({ did: 'finished' });
      return found!.conflicts;
    },
    side: 'new',
  },
  'putting back after tests': {
    prepare: async (scene) => {
      await scene.engine().apply(scene.request);
      for (const { path } of FILES) fs.writeFileSync(scene.at(path), 'tests wrote this\n');
    },
    work: async (scene, sys) => {
      const engine = scene.engine({ sys });
      const found = await engine.differing(scene.workspace, scene.request.proposal.files);
      const refused = await engine
        .putBack(scene.workspace, STEP, found)
        .catch((error: unknown) => error);
      if (refused !== undefined) expect(refused).toMatchObject({ problem: { code: 'conflict' } });
      return found.map(({ path, now }) => ({ path, why: `${now?.ref ?? ''} ${String(refused)}` }));
    },
    side: 'new',
  },
};

/** In the path, or in the blob store under a name that was told. */
const isKept = (scene: Scene, path: string, told: readonly ConflictFile[]): boolean => {
  if (fs.existsSync(scene.at(path)) && fs.readFileSync(scene.at(path), 'utf8') === SAVED)
    return true;
  const hex = createHash('sha256').update(SAVED).digest('hex');
  const named = told.some((conflict) => conflict.path === path && conflict.why.includes(hex));
  return named && fs.existsSync(join(scene.home, 'blobs', hex.slice(0, 2), hex));
};

describe.each(Object.entries(BACKS))('%s', (name, { prepare, work, side }) => {
  test.each(Object.entries(SAVES))(
    'a save %s at every system call',
    async (how, save) => {
      const counted = await makeScene(FILES);
      await prepare(counted);
      const count = shimSys(realSys);
      await work(counted, count.sys);
      counted.remove();
      const steps = count.names().map((_, i) => i + 1);
      for (const { path } of sampled(`${name}, ${how}, files`, FILES.slice(0, 3), 1)) {
        const own = `-${FILES.findIndex((file) => file.path === path)}.`;
        const critical = count.stepsAbout((p) => p.endsWith(`/${path}`) || p.includes(own));
        expect(critical.length).toBeGreaterThan(3);
        let told = 0;
        for (const at of sampled(
          `${name}, ${how}, ${path}`,
          steps,
          drawn(1, 60),
          spread(critical, 3),
          WHOLE,
        )) {
          const scene = await makeScene(FILES);
          await prepare(scene);
          const fault = () => {
            save(scene.at(path));
          };
          const shim = shimSys(realSys, { at, when: 'before', fault });
          const conflicts = await work(scene, shim.sys);
          expect(shim.fired()).toBe(true);
          expect({ at, path, kept: isKept(scene, path, conflicts) }).toEqual({
            at,
            path,
            kept: true,
          });
          if (conflicts.length > 0) told += 1;
          const others = sidesOf(scene).filter((_, i) => FILES[i]!.path !== path);
          expect({ at, path, others: [...new Set(others)] }).toEqual({ at, path, others: [side] });
          expect(await scene.engine().recover()).toEqual([]);
          expect({ at, path, left: leftovers(scene.workspace) }).toEqual({ at, path, left: [] });
          scene.remove();
        }
        expect({ path, told: told > 0 }).toEqual({ path, told: true });
      }
    },
    900_000,
  );
});
