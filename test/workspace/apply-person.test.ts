/** A person saves at every step of an apply: no saved byte is lost, and the other files are whole. EMEND_WHOLE=1 runs every step. */
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { realSys } from '../../src/system/sys.js';
import type { ApplyOutcome } from '../../src/workspace/ports.js';
import { drawn, sampled, spread, WHOLE } from '../support/seeded.js';
import { shimSys } from '../support/sys-shim.js';
import { leftovers, makeScene, sidesOf, type Scene, type SceneFile } from './apply-scene.js';

const FILES: readonly SceneFile[] = [
  { path: 'a.txt', before: 'old a\n', after: 'new a\n' },
  { path: 'made.txt', before: null, after: 'new made\n' },
  { path: 'gone.txt', before: 'old gone\n', after: null },
  { path: 'z.txt', before: 'old z\n', after: 'new z\n' },
];
const SAVED = "a person's bytes\n";

interface Act {
  readonly name: string;
  /** Runs before the apply starts. */
  readonly open?: (path: string) => number | null;
  readonly save: (path: string, handle: number | null, text: string) => void;
}
const ACTS: readonly Act[] = [
  {
    name: 'in place',
    save: (path, _handle, text) => {
      fs.writeFileSync(path, text);
    },
  },
  {
    name: 'by rename',
    save: (path, _handle, text) => {
      fs.writeFileSync(`${path}.editor`, text);
      fs.renameSync(`${path}.editor`, path);
    },
  },
  {
    name: 'through a handle that was open before',
    open: (path) => (fs.existsSync(path) ? fs.openSync(path, 'r+') : null),
    save: (path, handle, text) => {
      if (handle === null) fs.writeFileSync(path, text);
      else {
        fs.ftruncateSync(handle, 0);
        fs.writeSync(handle, text, 0);
      }
    },
  },
];

const readOrNull = (path: string): string | null =>
  fs.existsSync(path) ? fs.readFileSync(path, 'utf8') : null;

/** In the path, or in the blob store under a name that the outcome tells. */
const isKept = (scene: Scene, path: string, text: string, outcome: ApplyOutcome): boolean => {
  if (readOrNull(scene.at(path)) === text) return true;
  const hex = createHash('sha256').update(text).digest('hex');
  const told =
    outcome.outcome === 'conflict' &&
    outcome.conflicts.some((c) => c.path === path && c.why.includes(hex));
  return told && fs.existsSync(join(scene.home, 'blobs', hex.slice(0, 2), hex));
};

interface Walk {
  readonly steps: readonly number[];
  /** Steps that name the file, its temp or its backup: where an act in between matters most. Always run. */
  readonly critical: (path: string) => readonly number[];
  /** The step that takes away the kept base of the file; the last at which a write through an old handle can be seen. */
  readonly discards: (path: string) => number;
}
const walkOnce = async (): Promise<Walk> => {
  const scene = await makeScene(FILES);
  const shim = shimSys(realSys);
  expect(await scene.engine({ sys: shim.sys }).apply(scene.request)).toMatchObject({
    outcome: 'applied',
  });
  scene.remove();
  const ownNames = (path: string) => `-${FILES.findIndex((f) => f.path === path)}.`;
  const isOf = (path: string) => (p: string) =>
    p.startsWith(scene.workspace) && (p.endsWith(`/${path}`) || p.includes(ownNames(path)));
  return {
    steps: shim.names().map((_, i) => i + 1),
    critical: (path) => shim.stepsAbout(isOf(path)),
    discards: (path) =>
      shim.stepsAbout(isOf(path)).find((step) => shim.names()[step - 1] === 'unlinkReading') ?? 0,
  };
};
let walked: Promise<Walk> | undefined;
const walk = (): Promise<Walk> => (walked ??= walkOnce());

/** Everything but the disturbed file is at one side, and the outcome says what is so. */
const checkOthers = (scene: Scene, path: string, outcome: ApplyOutcome): void => {
  const others = sidesOf(scene).filter((_, i) => scene.files[i]?.path !== path);
  const [side] = others;
  expect(others.every((s) => s === side) ? side : others).toBe(
    outcome.outcome === 'base_changed' ? 'old' : 'new',
  );
  expect(leftovers(scene.workspace)).toEqual([]);
};

describe.each(ACTS)('a save $name at every system call', (act) => {
  test.each(FILES.map((f) => f.path))(
    'of %s',
    async (path) => {
      const { steps: all, critical, discards } = await walk();
      const steps = sampled(
        `${act.name}, ${path}`,
        all,
        drawn(1, 60),
        spread(critical(path), 3),
        WHOLE,
      );
      expect(critical(path).length).toBeGreaterThan(5);
      const outcomes = new Set<string>();
      for (const at of steps) {
        const scene = await makeScene(FILES);
        const handle = act.open?.(scene.at(path)) ?? null;
        const fault = () => {
          act.save(scene.at(path), handle, SAVED);
        };
        const shim = shimSys(realSys, { at, when: 'before', fault });
        const outcome = await scene.engine({ sys: shim.sys }).apply(scene.request);
        if (handle !== null) fs.closeSync(handle);
        expect(shim.fired()).toBe(true);
        outcomes.add(outcome.outcome);
        // Who writes through an old handle after its file was replaced and settled writes into what nobody can see any more.
        const tooLate = handle !== null && at > discards(path);
        expect({ at, kept: tooLate || isKept(scene, path, SAVED, outcome) }).toEqual({
          at,
          kept: true,
        });
        if (outcome.outcome !== 'applied') expect(outcome).toMatchObject({ conflicts: [{ path }] });
        checkOthers(scene, path, outcome);
        expect(await scene.engine().recover()).toEqual([]);
        scene.remove();
      }
      expect(
        [...outcomes].filter((o) => !['applied', 'conflict', 'base_changed'].includes(o)),
      ).toEqual([]);
      expect(outcomes.size).toBeGreaterThan(1);
    },
    600_000,
  );
});

describe('two saves', () => {
  test('at any two steps: the later one stands, the earlier one is superseded by it or kept', async () => {
    const critical = (await walk()).critical('a.txt');
    expect(critical.length).toBeGreaterThan(8);
    const pairs = critical.flatMap((first) =>
      Array.from({ length: 25 }, (_, more) => [first, first + 1 + more] as const),
    );
    for (const [first, second] of sampled('two saves', pairs, drawn(10, 200), [], WHOLE)) {
      const scene = await makeScene(FILES);
      const save = (text: string) => () => {
        fs.writeFileSync(scene.at('a.txt.editor'), text);
        fs.renameSync(scene.at('a.txt.editor'), scene.at('a.txt'));
      };
      const inner = shimSys(realSys, { at: first, when: 'before', fault: save('first\n') });
      const outer = shimSys(inner.sys, { at: second, when: 'before', fault: save('second\n') });
      const outcome = await scene.engine({ sys: outer.sys }).apply(scene.request);
      if (outer.fired())
        expect({ first, second, kept: isKept(scene, 'a.txt', 'second\n', outcome) }).toEqual({
          first,
          second,
          kept: true,
        });
      else
        expect({ first, kept: isKept(scene, 'a.txt', 'first\n', outcome) }).toEqual({
          first,
          kept: true,
        });
      checkOthers(scene, 'a.txt', outcome);
      scene.remove();
    }
  }, 1_200_000);
});

describe('other acts in between', () => {
  /** Beside the workspace, which `path` lies in. */
  const outsideOf = (path: string): string => join(dirname(dirname(path)), 'outside.txt');
  const acts: [string, (path: string) => void, (path: string) => boolean][] = [
    [
      'deletes the file',
      (p) => {
        fs.rmSync(p, { force: true });
      },
      () => true,
    ],
    [
      'changes its mode',
      (p) => {
        if (fs.existsSync(p)) fs.chmodSync(p, 0o700);
      },
      () => true,
    ],
    [
      'puts a directory in its place',
      (p) => {
        fs.rmSync(p, { force: true, recursive: true });
        fs.mkdirSync(p);
        fs.writeFileSync(`${p}/inside`, SAVED);
      },
      (p) => readOrNull(`${p}/inside`) === SAVED,
    ],
    [
      'puts a link to a file outside in its place',
      (p) => {
        fs.rmSync(p, { force: true });
        fs.writeFileSync(outsideOf(p), 'outside\n');
        fs.symlinkSync(outsideOf(p), p);
      },
      (p) => fs.readlinkSync(p) === outsideOf(p) && readOrNull(outsideOf(p)) === 'outside\n',
    ],
  ];
  test.each(acts)(
    'a person %s at every step',
    async (name, act, stands) => {
      const { steps, critical } = await walk();
      for (const at of sampled(name, steps, drawn(1, 60), spread(critical('a.txt'), 3), WHOLE)) {
        const scene = await makeScene(FILES);
        const shim = shimSys(realSys, {
          at,
          when: 'before',
          fault: () => {
            act(scene.at('a.txt'));
          },
        });
        const outcome = await scene.engine({ sys: shim.sys }).apply(scene.request);
        expect(shim.fired()).toBe(true);
        expect({ at, stands: stands(scene.at('a.txt')) }).toEqual({ at, stands: true });
        checkOthers(scene, 'a.txt', outcome);
        scene.remove();
      }
    },
    600_000,
  );

  test('a directory swapped for a link to the outside at every step: nothing outside is written', async () => {
    const file: SceneFile = { path: 'd/f.txt', before: 'old\n', after: 'new\n' };
    const first = await makeScene([file]);
    const counted = shimSys(realSys);
    await first.engine({ sys: counted.sys }).apply(first.request);
    first.remove();
    for (const at of sampled(
      'swapped directory',
      Array.from({ length: counted.calls() }, (_, i) => i + 1),
      8,
    )) {
      const scene = await makeScene([file]);
      const out = join(scene.root, 'out');
      fs.mkdirSync(out);
      fs.writeFileSync(join(out, 'f.txt'), 'old\n');
      const swap = () => {
        fs.renameSync(scene.at('d'), scene.at('d-moved'));
        fs.symlinkSync(out, scene.at('d'));
      };
      const shim = shimSys(realSys, { at, when: 'before', fault: swap });
      await scene
        .engine({ sys: shim.sys })
        .apply(scene.request)
        .catch(() => undefined);
      expect({ at, outside: fs.readdirSync(out) }).toEqual({ at, outside: ['f.txt'] });
      expect({ at, bytes: fs.readFileSync(join(out, 'f.txt'), 'utf8') }).toEqual({
        at,
        bytes: 'old\n',
      });
      scene.remove();
    }
  }, 600_000);
});
