/** A home that goes away under a running worker: nothing is made in its place, a bounded number of attempts, a decision, and on with it. */
import { existsSync, mkdirSync, readdirSync, renameSync, rmdirSync } from 'node:fs';
import { afterEach, expect, test } from '@jest/globals';
import type { ResolvedRun } from '../../src/client/index.js';
import type { StepStatus } from '../../src/shared/run.js';
import { emendCommand, eventually, withHandle } from './ends.js';
import { OWN_STORE } from './homes.js';
import { scene, whole, type Scene } from './support.js';

let open: Scene | null = null;
afterEach(async () => {
  await open?.close();
  open = null;
});

const ATTEMPTS = 3;
const JOB = '---\ntarget_files: [a.js]\ncommit: true\n---\n# Grow\n\nRaise it.\n';
const LOOKING = [
  ['list'],
  ['show', 'abcd'],
  ['events', 'abcd'],
  ['diff', 'abcd'],
  ['decide', 'abcd', 'retry'],
  ['gc'],
];

/** The open decision once it is another one than `last`; asked of the run itself, as the client's stores are gone too. */
const nextDecision = (s: Scene, run: ResolvedRun, last: string) =>
  withHandle(s, run, (handle) =>
    eventually('the next decision', async () => {
      const { decision } = await handle
        .query<StepStatus>('status')
        .catch(() => ({ decision: null }));
      return decision !== null && decision.id !== last && decision;
    }),
  );
const signal = (s: Scene, run: ResolvedRun, name: string, decision: string): Promise<void> =>
  withHandle(s, run, (handle) => handle.signal(name, { decision }));

/** Attempts of each execution of the activity that has come to its end. */
const attemptsOf = (s: Scene, run: ResolvedRun, activity: string): Promise<number[]> =>
  withHandle(s, run, async (handle) => {
    const { events = [] } = await handle.fetchHistory();
    const ids = (events ?? [])
      .filter(
        (event) => event.activityTaskScheduledEventAttributes?.activityType?.name === activity,
      )
      .map((event) => String(event.eventId));
    return (events ?? [])
      .map((event) => event.activityTaskStartedEventAttributes)
      .filter((started) => started != null && ids.includes(String(started.scheduledEventId)))
      .map((started) => Number(started?.attempt));
  });

test('gone, then empty, then back: the decision says so, no home is made, the run goes on', async () => {
  const env = { ...OWN_STORE, EMEND_HOSTACTIVITYATTEMPTS: String(ATTEMPTS) };
  const rule = {
    name: 'a',
    match: { contains: '- a.js' },
    answer: whole({ 'a.js': 'const a = 2;\n' }),
  };
  const s = (open = await scene({ 'a.js': 'const a = 1;\n' }, [rule], { env }));
  await s.worker();
  const run = await s.start('job.md', JOB);
  const approval = (await s.settle(run)).status.decision!;

  const away = `${s.home} away`;
  renameSync(s.home, away);
  await signal(s, run, 'approve', approval.id);
  const gone = await nextDecision(s, run, approval.id);
  expect(gone).toMatchObject({
    reason: 'engine_failed',
    accepts: expect.arrayContaining(['retry', 'abort']) as unknown,
  });
  expect(gone.message).toContain(`EMEND_HOME at ${s.home} was removed or emptied`);
  expect(gone.message).toContain('Restore the directory');
  expect(existsSync(s.home)).toBe(false);
  expect(await attemptsOf(s, run, 'applyProposal')).toEqual([ATTEMPTS]);
  // A command that only looks creates no home either.
  for (const command of LOOKING) {
    const said = await emendCommand(s, ...command);
    // To a list it is no mistake.
    expect({ command, code: said.code }).toEqual({ command, code: command[0] === 'list' ? 0 : 1 });
    const told = `${said.out}${said.err}`;
    expect(told).toContain(`No runs yet: ${s.home} does not exist`);
    expect(told).toContain('mount it or restore it');
    expect(told.split('\n').length).toBeLessThan(5);
    expect(existsSync(s.home)).toBe(false);
  }

  mkdirSync(s.home, { mode: 0o700 });
  await signal(s, run, 'retry', gone.id);
  const empty = await nextDecision(s, run, gone.id);
  expect(empty.message).toContain('was removed or emptied');
  expect(readdirSync(s.home)).toEqual([]);
  expect(s.read('a.js')).toBe('const a = 1;\n');
  expect(await attemptsOf(s, run, 'applyProposal')).toEqual([ATTEMPTS, ATTEMPTS]);

  rmdirSync(s.home);
  renameSync(away, s.home);
  await s.answer(run, 'retry');
  expect(await s.end(run)).toMatchObject({ outcome: 'committed', files: ['a.js'] });
  expect(s.rehearsal.requests()).toHaveLength(1);
}, 120_000);
