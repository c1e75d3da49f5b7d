/** SIGKILL to `emend plan expand|collapse` before and after system calls; the same command, typed again, brings it to its end. EMEND_WHOLE=1: each. */
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { main } from '../../src/cli/main.js';
import { fakeIo } from '../cli/io.js';
import { EVERYTHING } from '../documents/plan/support.js';
import { drawn, sampled, WHOLE } from '../support/seeded.js';
import type { ShimPlan, SysCall } from '../support/sys-shim.js';
import { transpile } from '../support/transpile.js';
import { filesBelow, killsOf, NO_KILL, runChild } from './killed.js';

let child: ReturnType<typeof transpile>;
beforeAll(() => {
  child = transpile('plan-kill', 'test/crash/plan-child.ts');
});
afterAll(() => {
  child.remove();
});

type Files = Readonly<Record<string, string>>;
interface Work {
  readonly name: string;
  /** `VERB KIND PLAN NUMBER`, as typed, and what it says once it has nothing to do. */
  readonly typed: readonly string[];
  readonly done: string;
  /** Typed before, so that there is something to do. */
  readonly before: readonly (readonly string[])[];
}
const PHASE = ['phase', '010_demo.md', '2'] as const;
const STAGE = ['stage', '010_demo.md', '2.1'] as const;
const WORKS: readonly Work[] = [
  { name: 'expand phase', typed: ['expand', ...PHASE], done: 'expanded', before: [] },
  {
    name: 'expand stage',
    typed: ['expand', ...STAGE],
    done: 'expanded',
    before: [['expand', ...PHASE]],
  },
  {
    name: 'collapse stage',
    typed: ['collapse', ...STAGE],
    done: 'not expanded',
    before: [
      ['expand', ...PHASE],
      ['expand', ...STAGE],
    ],
  },
  {
    name: 'collapse phase',
    typed: ['collapse', ...PHASE],
    done: 'not expanded',
    before: [['expand', ...PHASE]],
  },
];

interface Place {
  readonly dir: string;
  readonly work: string;
  readonly env: Record<string, string | undefined>;
}
/** Files that stand there, and beside them one of the person's. */
const placeWith = (files: Files): Place => {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'emend plan kill ')));
  const work = join(dir, 'work');
  for (const [path, text] of Object.entries({ ...files, 'notes.md': 'mine\n' })) {
    mkdirSync(dirname(join(work, path)), { recursive: true });
    writeFileSync(join(work, path), text);
  }
  return { dir, work, env: { EMEND_HOME: join(dir, 'home'), HOME: dir, PATH: process.env.PATH } };
};
const emend = async ({ env, work }: Place, ...args: readonly string[]) => {
  const io = fakeIo({ env, cwd: work });
  return { exit: await main([...args], io), ...io.printed };
};
/** Without the person's file, which is to stand there as it was. */
const planOf = ({ work }: Place): Files => {
  const { 'notes.md': notes, ...files } = filesBelow(work);
  expect(notes).toBe('mine\n');
  return files;
};
const runWork = (place: Place, { typed }: Work, plan: ShimPlan) =>
  runChild([child.path, ...typed, JSON.stringify(plan)], { cwd: place.work, env: place.env });

/** The plan before the command and after it, and every system call that it makes. */
const wholly = async (
  work: Work,
): Promise<{ before: Files; after: Files; names: readonly SysCall[] }> => {
  const place = placeWith({ '010_demo.md': EVERYTHING });
  for (const args of work.before)
    expect(await emend(place, 'plan', ...args)).toMatchObject({ exit: 0 });
  const before = planOf(place);
  rmSync(place.env.EMEND_HOME ?? '', { recursive: true, force: true });
  const { stdout, stderr } = await runWork(place, work, NO_KILL);
  expect(stderr).toBe('');
  const { exit, names } = JSON.parse(stdout) as { exit: number; names: SysCall[] };
  expect(exit).toBe(0);
  const after = planOf(place);
  rmSync(place.dir, { recursive: true });
  expect(after).not.toEqual(before);
  return { before, after, names };
};

/** Whoever only looks reads a whole plan, or says that it is half done and what to type; it changes nothing. */
const looked = async (place: Place, kill: object): Promise<{ open: boolean }> => {
  const left = filesBelow(place.dir);
  const said: boolean[] = [];
  for (const look of ['check', 'score', 'show', 'run']) {
    const { exit, err } = await emend(place, 'plan', look, '010_demo.md');
    const open = err.includes('an interrupted command left a change of');
    if (open)
      expect({ kill, look, exit, err }).toMatchObject({
        exit: 4,
        err: expect.stringContaining('`emend recover`'),
      });
    // What stands there is no repository, which a run says of a plan that it could read.
    else if (look === 'run')
      expect({ kill, err }).toMatchObject({
        err: expect.stringContaining('not in a git repository'),
      });
    else expect({ kill, look, exit, err }).toEqual({ kill, look, exit: 0, err: '' });
    said.push(open);
  }
  expect({ kill, said: new Set(said).size, files: filesBelow(place.dir) }).toEqual({
    kill,
    said: 1,
    files: left,
  });
  return { open: said.includes(true) };
};

test('emend plan check names what ends it: emend recover, typed as it says', async () => {
  const [work] = WORKS as [Work];
  const { before, after, names } = await wholly(work);
  // A target taken aside: the point of no return is behind it, and what was written last before that is the word for it.
  const aside = names.indexOf('rename');
  for (const [at, files] of [
    [aside, after],
    [names.lastIndexOf('writeExclusive', aside), before],
  ] as const) {
    const place = placeWith(before);
    const kill = { at: at + 1, when: 'after' as const };
    expect(await runWork(place, work, { ...kill, fault: 'kill' })).toMatchObject({
      signal: 'SIGKILL',
    });
    expect(await looked(place, kill)).toEqual({ open: true });
    expect(await emend(place, 'recover')).toMatchObject({ exit: 0 });
    expect({ kill, files: planOf(place) }).toEqual({ kill, files });
    expect(await looked(place, kill)).toEqual({ open: false });
    rmSync(place.dir, { recursive: true });
  }
}, 120_000);

describe.each(sampled('commands', WORKS, 1))('emend plan $name, killed', (work) => {
  test('typed again it finds the plan as it was or as it is to be, and comes to its end', async () => {
    const { before, after, names } = await wholly(work);
    const kills = killsOf(names);
    // The first target that is taken aside comes after the point of no return, the first file that is written long before it.
    const nth = (name: SysCall) =>
      kills.filter(({ at, when }) => at === names.indexOf(name) + 1 && when === 'after');
    const always = [...nth('writeExclusive'), ...nth('rename')];
    const seen = new Set<string>();
    const halfDone = new Set<boolean>();
    for (const kill of sampled(`kills of plan ${work.name}`, kills, drawn(1, 4), always, WHOLE)) {
      const place = placeWith(before);
      const log = join(place.dir, 'fired');
      const killed = await runWork(place, work, { ...kill, fault: 'kill', log });
      expect({ kill, signal: killed.signal, fired: existsSync(log) }).toEqual({
        kill,
        signal: 'SIGKILL',
        fired: true,
      });

      const { open } = await looked(place, kill);
      halfDone.add(open);

      const again = await emend(place, 'plan', ...work.typed);
      // What it finds done it says so of: either the killed one had done it, or recovering did.
      const found = again.exit === 0 ? 'old' : 'new';
      if (found === 'new')
        expect({ kill, ...again }).toMatchObject({
          exit: 2,
          err: expect.stringContaining(work.done),
        });
      expect({ kill, files: planOf(place) }).toEqual({ kill, files: after });
      expect({ kill, ...(await emend(place, 'plan', 'check', '010_demo.md')) }).toMatchObject({
        kill,
        exit: 0,
        err: '',
      });
      seen.add(found);
      rmSync(place.dir, { recursive: true });
    }
    expect([...seen].sort()).toEqual(['new', 'old']);
    expect(halfDone).toContain(true);
  }, 3_600_000);
});
