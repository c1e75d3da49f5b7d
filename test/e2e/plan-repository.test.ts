/** Plans on a repository, which is nobody's working tree: their documents, marks and phases are on a branch, and any host goes on. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test } from '@jest/globals';
import {
  planOfPath,
  resolveRun,
  startPlan,
  type ResolvedRun,
  type StepResult,
} from '../../src/client/index.js';
import { shownKey } from '../../src/shared/ids.js';
import { branchOf } from '../../src/shared/repository.js';
import type { PlanOptions } from '../../src/shared/run.js';
import { longOnly } from '../support/skipped.js';
import { longInBucket } from './bucket-store.js';
import { emendCommand, emendIn } from './ends.js';
import { bury, doomedWorker, holdingGit, homeOf, originScene, type Origin } from './origin.js';
import {
  answerFor,
  completed,
  phaseRun,
  planText,
  replanned,
  TWO_WAVES,
  type DemoPhase,
} from './plan-support.js';

let o: Origin;
afterEach(() => o.close());

const PLAN = 'plans/010_demo.md';
const PHASES: readonly DemoPhase[] = [
  { name: 'Foundation', file: 'src/one.js' },
  { name: 'Core logic', file: 'src/two.js', tasks: 2 },
];
const filesOf = (phases: readonly DemoPhase[], front = '') => ({
  [PLAN]: front + planText(phases),
  'emend.yaml': 'test: [node -e 0]\n',
});
const rulesOf = (phases: readonly DemoPhase[]) => phases.map((phase) => answerFor(phase));
const open = async (phases: readonly DemoPhase[], isGroup = false): Promise<void> => {
  o = await originScene(filesOf(phases), rulesOf(phases), isGroup);
};
/** From a directory that holds nothing. `restart`: whatever earlier runs of these tests left. */
const start = async (url: string, options: Partial<PlanOptions> = {}): Promise<ResolvedRun> => {
  const plan = await planOfPath(o.s.repo, PLAN, { repository: url, base: 'main' });
  const wanted = { estimate: 'approved', restart: true, ...options } as const;
  const { stepKey } = await startPlan(o.s.emend, { plan, approval: 'auto', options: wanted });
  return resolveRun(o.s.emend, stepKey);
};
/** Of what `--json` prints: a line for each event, then the outcome. */
const lastOf = (out: string): { readonly stepKey: string } =>
  JSON.parse(out.trim().split('\n').at(-1) ?? '') as { readonly stepKey: string };
/** What is asked instead of an end fails the test with its words. */
const ended = async (run: ResolvedRun): Promise<StepResult | null> => {
  const { s } = o;
  for (let left = 1_000; left > 0; left -= 1) {
    const { status } = await s.show(run);
    if (status.result !== null) return status.result;
    for (const each of [null, ...(status.plan?.phases ?? [])]) {
      const one = each === null ? run : await resolveRun(s.emend, each.run ?? '').catch(() => null);
      const { decision = null } = one === null ? {} : (await s.show(one)).status;
      if (decision !== null) throw new Error(`${decision.reason}: ${decision.message}`);
    }
    await sleep(500);
  }
  throw new Error(`did not end: ${(await s.show(run)).status.doing}`);
};
const log = (run: ResolvedRun): readonly string[] =>
  o
    .git('log', '--reverse', '--first-parent', '--format=%s', `main..${branchOf(run.stepKey)}`)
    .split('\n');
const documentOf = (run: ResolvedRun): string => o.git('show', `${branchOf(run.stepKey)}:${PLAN}`);
const COMMITS = [
  'Phase 1: Foundation',
  'Phase 2: Core logic',
  'Mark Phase 2 of plans/010_demo as completed (2/2)',
];
const branches = (): readonly string[] => o.refs().filter((name) => name.startsWith('refs/heads/'));

test('a plan with a URL alone, from a directory that holds nothing: phases in order, each pushed to the branch with the marks before it', async () => {
  await open(PHASES);
  const { s, url } = o;
  await s.worker();
  const where = ['--repository', url, '--base', 'main'];
  const ran = await emendCommand(
    s,
    'plan',
    'run',
    PLAN,
    ...where,
    '--auto',
    '--yes',
    '--wait',
    '--json',
  );
  expect(ran).toMatchObject({ code: 0 });
  const run = await resolveRun(s.emend, lastOf(ran.out).stepKey);
  expect((await s.show(run)).status).toMatchObject({
    workspace: url,
    result: { outcome: 'completed' },
  });
  expect(log(run)).toEqual(COMMITS);
  expect(documentOf(run).startsWith(completed(PHASES).trim())).toBe(true);
  // The mark of the first phase is in the second one's commit.
  expect(o.git('show', `${branchOf(run.stepKey)}~1:${PLAN}`)).toContain(
    '### Phase 1: Foundation [COMPLETED]',
  );
  expect(branches()).toEqual([`refs/heads/${branchOf(run.stepKey)}`, 'refs/heads/main']);
  expect(readdirSync(s.repo)).toEqual([]);
  const told = await emendCommand(s, 'plan', 'status', PLAN, '--repository', url);
  expect(told.out).toContain('Core logic');
  const alone = await emendCommand(s, 'plan', 'run', PLAN, '--repository', url);
  expect([alone.code, alone.err]).toEqual([2, expect.stringContaining('expected base with it')]);
  const gone = await emendCommand(
    s,
    'plan',
    'run',
    'plans/011_gone.md',
    ...where,
    '--yes',
    '--wait',
  );
  expect([gone.code, gone.out + gone.err]).toEqual([
    expect.any(Number),
    expect.stringContaining('011_gone'),
  ]);
  expect(gone.code).not.toBe(0);
}, 240_000);

const revised = longOnly('a plan that is revised, stopped and resumed by processes of their own');
revised(
  'revise while a phase waits, stop, and resume from another client: the new run goes on, on the same branch; a clone of it takes a phase back',
  async () => {
    const late: DemoPhase = { name: 'Late', file: 'src/late.js' };
    const change = { action: 'add_phase', phase: 2, name: 'Late', objective: 'Write src/late.js' };
    const wish = { contains: ['You revise an implementation plan', 'late is wanted, too'] };
    o = await originScene(filesOf(PHASES), [
      replanned({ ...change, tasks: ['Create `src/late.js`'] }, wish),
      ...rulesOf([...PHASES, late]),
    ]);
    const { s, url } = o;
    const where = ['--repository', url];
    await s.worker();
    const plan = await planOfPath(s.repo, PLAN, { repository: url, base: 'main' });
    const options = { estimate: 'approved' } as const;
    const run = await resolveRun(s.emend, (await startPlan(s.emend, { plan, options })).stepKey);
    const one = await phaseRun(s, run, 'p1-1');
    expect((await s.settle(one, 120)).status.decision?.reason).toBe('approval');
    const said = await emendCommand(s, 'plan', 'revise', PLAN, 'late is wanted, too', ...where);
    expect(said).toMatchObject({ code: 0 });
    expect(await emendCommand(s, 'plan', 'stop', PLAN, '--after-phase', ...where)).toMatchObject({
      code: 0,
    });
    await s.answer(one, 'approve');
    expect(await s.end(run, 240)).toMatchObject({ outcome: 'stopped' });
    expect(branches()).toEqual([`refs/heads/${branchOf(run.stepKey)}`, 'refs/heads/main']);

    const asking = await emendCommand(s, 'plan', 'resume', PLAN, ...where, '--json');
    expect([asking.code, asking.out]).toEqual([3, expect.stringContaining('left a checkpoint')]);
    const next = await resolveRun(s.emend, lastOf(asking.out).stepKey);
    await s.answer(next, 'resume');
    expect((await s.settle(next, 120)).status.decision?.reason).toBe('estimate');
    await s.answer(next, 'continue');
    const bin = join(dirname(s.repo), 'bin');
    const asked = join(dirname(s.repo), 'asked');
    mkdirSync(bin);
    writeFileSync(join(bin, 'gh'), `#!/bin/sh\nprintf '%s\\n' "$@" > '${asked}'\n`, {
      mode: 0o755,
    });
    const more = ['--base', 'main', '--yes', '--wait', '--draft-pr'];
    const env = { PATH: `${bin}:${process.env.PATH ?? ''}` };
    const gone = await emendIn(s, { env }, 'plan', 'run', PLAN, ...where, ...more);
    expect([gone.code, gone.out + gone.err]).toEqual([0, expect.stringContaining('completed')]);
    expect(branches()).toEqual([`refs/heads/${branchOf(run.stepKey)}`, 'refs/heads/main']);
    const subjects = log(run).filter((subject) => subject.startsWith('Phase'));
    expect(subjects).toEqual(['Phase 1: Foundation', 'Phase 3: Late', 'Phase 2: Core logic']);
    expect(documentOf(run)).toContain('### Phase 3: Late [COMPLETED]');
    const words = [
      '--title',
      '010_demo',
      '--body',
      `Created by \`emend plan run\` (${shownKey(next.stepKey)}): completed.`,
    ];
    const create = [
      'pr',
      'create',
      '--draft',
      '--repo',
      url,
      '--base',
      'main',
      '--head',
      branchOf(run.stepKey),
    ];
    expect(readFileSync(asked, 'utf8').trim().split('\n')).toEqual([...create, ...words]);

    s.git('clone', '-q', '-b', branchOf(run.stepKey), url, '.');
    const directory = await emendCommand(s, 'plan', 'run', PLAN, '--draft-pr');
    expect([directory.code, directory.err]).toEqual([
      2,
      expect.stringContaining('--draft-pr needs a repository'),
    ]);
    // Phase 2 stands below it in the document, and was built on it.
    const refused = await emendCommand(s, 'plan', 'rollback', PLAN, '3');
    expect(refused).toMatchObject({
      code: 5,
      err: expect.stringContaining(`emend plan rollback ${PLAN} 2`) as unknown,
    });
    for (const n of ['2', '3'])
      expect(await emendCommand(s, 'plan', 'rollback', PLAN, n)).toMatchObject({ code: 0 });
    expect(s.read(PLAN)).not.toContain('### Phase 3: Late [COMPLETED]');
    expect(existsSync(join(s.repo, late.file))).toBe(false);
  },
  900_000,
);

const hosts = longInBucket('several homes on one store, and workers that are killed or stopped');

const diesAt = async (point: string, url: string, name: string): Promise<ResolvedRun> => {
  const { s } = o;
  const first = await doomedWorker(s, point, name);
  const run = await start(url);
  await s.until(first.fired, 240);
  await first.exited;
  bury(s, name);
  return run;
};

hosts.each([
  ...[
    'runTests:before:1',
    'runTests:after:2',
    'commit:after:1',
    'markPhase:after:1',
    'readPlan:before:2',
    'markPhase:before:2',
    'markPhase:after:2',
  ],
])(
  'a host that is killed at %s, with all that it had on its disk: another goes on, one commit a phase, nothing asked twice',
  async (point) => {
    await open(PHASES, true);
    const url = await o.serve();
    const run = await diesAt(point, url, 'first');
    await o.s.worker(undefined, homeOf(o.s, 'second'));
    expect(await ended(run)).toMatchObject({ outcome: 'completed', usage: { calls: 2 } });
    expect(log(run)).toEqual(COMMITS);
    expect(documentOf(run).startsWith(completed(PHASES).trim())).toBe(true);
    expect(o.s.rehearsal.requests()).toHaveLength(2);
  },
  900_000,
);

hosts.each(['none', 'commit:after:1', 'mergePhase:before:2', 'mergePhase:after:2'])(
  'phases of a wave side by side, each on a branch of its own, merged into the plan’s; a host dies at %s',
  async (point) => {
    await open(TWO_WAVES, true);
    const url = await o.serve();
    const run = point === 'none' ? await start(url) : await diesAt(point, url, 'first');
    await o.s.worker(undefined, homeOf(o.s, 'second'));
    expect(await ended(run)).toMatchObject({ outcome: 'completed', usage: { calls: 3 } });
    const subjects = log(run);
    expect(subjects.slice(0, 2).sort()).toEqual(['Merge Phase 1: One', 'Merge Phase 2: Two']);
    expect(subjects.filter((subject) => subject.startsWith('Phase 3'))).toEqual(['Phase 3: Three']);
    expect(documentOf(run).startsWith(completed(TWO_WAVES).trim())).toBe(true);
    expect(branches()).toEqual([`refs/heads/${branchOf(run.stepKey)}`, 'refs/heads/main']);
    expect(o.s.rehearsal.requests()).toHaveLength(3);
  },
  900_000,
);

hosts(
  'a worker that is stopped past its time-outs before it pushes a mark wakes up and can neither push nor record',
  async () => {
    await open(PHASES, true);
    const { s, url } = o;
    const bin = holdingGit(join(dirname(s.repo), 'bin'), 'Mark Phase');
    const first = await s.worker(undefined, {
      ...homeOf(s, 'first'),
      PATH: `${bin}:${process.env.PATH ?? ''}`,
    });
    const run = await start(url);
    await s.until(() => existsSync(join(bin, 'held')), 400);
    first.child.kill('SIGSTOP');
    await s.worker(undefined, homeOf(s, 'second'));
    const result = await ended(run);
    expect(result).toMatchObject({ outcome: 'completed' });
    expect(log(run)).toEqual(COMMITS);
    const authors = o.git('log', '-3', '--format=%an', branchOf(run.stepKey)).split('\n');
    expect(authors).toEqual(['second', 'first', 'first']);
    const entries = async () => (await s.emend.archive.read(run.stepKey)).length;
    const before = [o.git('for-each-ref'), await entries()];
    first.child.kill('SIGCONT');
    writeFileSync(join(bin, 'go'), '');
    await s.until(() => existsSync(join(bin, 'ended')), 120);
    expect(readFileSync(join(bin, 'ended'), 'utf8').trim()).not.toBe('0');
    await sleep(3_000);
    expect([o.git('for-each-ref'), await entries()]).toEqual(before);
    expect(await s.end(run)).toEqual(result);
  },
  900_000,
);
