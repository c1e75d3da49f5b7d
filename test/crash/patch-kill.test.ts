/** SIGKILL to `emend patch` and `emend undo` before and after system calls; the next command brings all or nothing. EMEND_WHOLE=1: each. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { main } from '../../src/cli/main.js';
import { fakeIo } from '../cli/io.js';
import { drawn, sampled, WHOLE } from '../support/seeded.js';
import type { ShimPlan, SysCall } from '../support/sys-shim.js';
import { transpile } from '../support/transpile.js';
import { longOnly } from '../support/skipped.js';
import { filesBelow, killsOf, NO_KILL, runChild } from './killed.js';

let child: ReturnType<typeof transpile>;
beforeAll(() => {
  child = transpile('patch-kill', 'test/crash/patch-child.ts');
});
afterAll(() => {
  child.remove();
});

interface Place {
  readonly dir: string;
  readonly work: string;
  readonly env: Record<string, string | undefined>;
}
const OLD: Readonly<Record<string, string>> = {
  'a.txt': 'one\n',
  'gone.txt': 'x\n',
  'left.txt': 'left\nsame\n',
  'right.txt': 'right\n',
};
/** `left.txt` and `right.txt` swap their names; one of them changes, too. */
const NEW: Readonly<Record<string, string>> = {
  'a.txt': 'ONE\n',
  'far/new.txt': 'n\n',
  'left.txt': 'right\n',
  'right.txt': 'LEFT\nsame\n',
};
const hunk = (old: string, now: string, lines: string): string =>
  `--- ${old}\n+++ ${now}\n${lines}`;
const ANSWER = [
  hunk('a/a.txt', 'b/a.txt', '@@ -1 +1 @@\n-one\n+ONE\n'),
  hunk('a/gone.txt', '/dev/null', '@@ -1 +0,0 @@\n-x\n'),
  hunk('/dev/null', 'b/far/new.txt', '@@ -0,0 +1 @@\n+n\n'),
  'diff --git a/left.txt b/right.txt\nsimilarity index 50%\nrename from left.txt\nrename to right.txt\n',
  hunk('a/left.txt', 'b/right.txt', '@@ -1,2 +1,2 @@\n-left\n+LEFT\n same\n'),
  'diff --git a/right.txt b/left.txt\nsimilarity index 100%\nrename from right.txt\nrename to left.txt\n',
].join('');

const makePlace = (): Place => {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'emend patch kill ')));
  const work = join(dir, 'work');
  mkdirSync(work);
  for (const [path, text] of Object.entries({ ...OLD, 'c.txt': 'c\n' }))
    writeFileSync(join(work, path), text);
  writeFileSync(join(dir, 'answer'), ANSWER);
  return { dir, work, env: { EMEND_HOME: join(dir, 'home'), HOME: dir, PATH: process.env.PATH } };
};
const emend = async ({ env, work }: Place, ...args: string[]) => {
  const io = fakeIo({ env, cwd: work, stdin: Buffer.from('FILE c.txt\nC\nEND FILE\n') });
  return { exit: await main(args, io), ...io.printed };
};
const treeOf = ({ work }: Place): Record<string, string> => filesBelow(work);

const runWork = (place: Place, work: Work, plan: ShimPlan) =>
  runChild([child.path, work, place.work, join(place.dir, 'answer'), JSON.stringify(plan)], {
    cwd: place.work,
    env: place.env,
  });

type Work = 'patch' | 'undo';
const placeFor = async (work: Work): Promise<Place> => {
  const place = makePlace();
  if (work === 'undo') expect(await emend(place, 'patch', '../answer')).toMatchObject({ exit: 0 });
  return place;
};
/** The calls of the work, and which of them takes the first target aside: the point of no return is behind it. */
interface Counted {
  readonly names: readonly SysCall[];
  readonly aside: number;
}
const counted = async (work: Work): Promise<Counted> => {
  const place = await placeFor(work);
  const { stdout, stderr } = await runWork(place, work, NO_KILL);
  expect(stderr).toBe('');
  const { exit, ...calls } = JSON.parse(stdout) as Counted & { exit: number };
  expect({ exit, tree: treeOf(place) }).toEqual({
    exit: 0,
    tree: { ...(work === 'patch' ? NEW : OLD), 'c.txt': 'c\n' },
  });
  rmSync(place.dir, { recursive: true });
  return calls;
};

describe.each(['patch', 'undo'] as const)('emend %s, killed', (work) => {
  test('the next command finishes or reverts it, and has the workspace', async () => {
    const { names, aside } = await counted(work);
    const kills = killsOf(names);
    // The first target is taken aside after the point of no return, the first file is written long before it.
    const written = names.indexOf('writeExclusive') + 1;
    const always = kills.filter(
      ({ at, when }) => when === 'after' && (at === written || at === aside),
    );
    const seen = new Set<string>();
    for (const kill of sampled(`kills of ${work}`, kills, drawn(0, 12), always, WHOLE)) {
      const place = await placeFor(work);
      const log = join(place.dir, 'fired');
      const ended = await runWork(place, work, { ...kill, fault: 'kill', log });
      expect({ kill, signal: ended.signal, fired: existsSync(log) }).toEqual({
        kill,
        signal: 'SIGKILL',
        fired: true,
      });
      const next = await emend(place, 'patch', '-');
      expect({ kill, ...next }).toMatchObject({ kill, exit: 0 });
      const tree = treeOf(place);
      const which = tree['a.txt'] === 'ONE\n' ? NEW : OLD;
      expect({ kill, tree }).toEqual({ kill, tree: { ...which, 'c.txt': 'C\n' } });
      seen.add(which === NEW ? 'new' : 'old');
      rmSync(place.dir, { recursive: true });
    }
    expect([...seen].sort()).toEqual(['new', 'old']);
  }, 3_600_000);

  const once =
    work === 'patch'
      ? test
      : longOnly('`emend recover` after a killed undo; after a killed patch it runs always');
  once(
    'emend recover does the same, and frees the workspace',
    async () => {
      const { aside: at } = await counted(work);
      const place = await placeFor(work);
      const log = join(place.dir, 'fired');
      expect(await runWork(place, work, { at, when: 'after', fault: 'kill', log })).toMatchObject({
        signal: 'SIGKILL',
      });
      expect(existsSync(log)).toBe(true);
      const recovered = await emend(place, 'recover', '--json');
      expect(recovered.exit).toBe(0);
      expect(JSON.parse(recovered.out)).toMatchObject({
        transactions: [{ did: 'finished', workspace: place.work }],
      });
      expect(treeOf(place)).toEqual({ ...(work === 'patch' ? NEW : OLD), 'c.txt': 'c\n' });
      const lock = join(place.dir, 'home/locks');
      const [held = ''] = readdirSync(lock);
      const files = readdirSync(join(lock, held));
      const taken = files.filter((name) => /^\d+\.json$/.test(name));
      expect(taken.filter((name) => !files.includes(name.replace('.json', '.end.json')))).toEqual(
        [],
      );
      rmSync(place.dir, { recursive: true });
    },
    600_000,
  );
});
