/**
 * Terminate from the Temporal API, and a time-out of the whole run (which Emend never sets), in each state: the run does nothing more.
 * What it had applied and not committed stays, is held, shown and undone; else nothing is held. Its archive answers with all it had
 * done, without worker or server. EMEND_WHOLE=1 runs all states, else a printed, seeded sample.
 */
import { runKey } from '../../src/shared/run-key.js';
import { afterEach, describe, expect, test } from '@jest/globals';
import { archivedRun, resolveRun, runEvents, showRun } from '../../src/client/index.js';
import { releaseLock } from '../../src/client/ended/release-lock.js';
import { releaseStaleLocks } from '../../src/client/ended/stale-locks.js';
import { sampled, WHOLE } from '../support/seeded.js';
import { closedOf, withHandle } from './ends.js';
import { letGo, reachState, STATES, treeAs, treeOf, type At, type State } from './states.js';
import type { Scene } from './support.js';

let open: Scene | null = null;
afterEach(async () => {
  await open?.close();
  open = null;
});

const expectEnded = async (
  state: State,
  at: At,
  how: 'terminated' | 'timed out',
): Promise<void> => {
  const { s, run } = at;
  const applied = state.terminated === 'applied';
  expect(await treeOf(at)).toEqual(treeAs(state, run, state.terminated));

  // As somebody who looks now finds it, not as it was when it was started.
  const ended = await resolveRun(s.emend, run.stepKey);
  const { status } = await s.show(ended);
  expect({ state: status.state, calls: status.usage.calls, decision: status.decision }).toEqual({
    state: how === 'timed out' ? 'failed' : 'aborted',
    calls: state.calls,
    decision: null,
  });
  const undo = `emend recover --undo ${run.stepKey.slice(0, 8)}`;
  expect(status.doing).toContain(
    applied ? `${how}, 1 file applied (${undo}): a.txt` : `${how}, nothing applied`,
  );

  // The archive alone tells the same, and no less than a worker does that replays the run.
  const told = await s.events(ended);
  await at.worker?.kill();
  const alone = { ...s.emend, runs: null };
  const kept = await resolveRun(alone, run.stepKey);
  expect(await runEvents(alone, kept)).toEqual(told);
  expect((await showRun(alone, kept)).status).toMatchObject({
    state: status.state,
    doing: status.doing,
  });
  expect(archivedRun(run.stepKey, await s.emend.archive.read(run.stepKey)).applied).toEqual(
    applied ? ['a.txt'] : [],
  );

  const { held } = await releaseStaleLocks(s.emend);
  const own = held.filter(({ stepKey }) => stepKey === run.stepKey);
  expect(own.map(({ files, ended }) => ({ files, ended }))).toEqual(
    applied ? [{ files: ['a.txt'], ended: how }] : [],
  );
  for (const hold of own)
    expect(await releaseLock(s.emend, hold, 'undo')).toEqual({ files: ['a.txt'], leftAlone: [] });
  const left = applied ? 'untouched' : state.terminated;
  expect(await treeOf(at)).toEqual(treeAs(state, run, left));
};

const names = STATES.map(({ name }) => name).filter((name) => name !== 'finished');
const stateOf = (name: string): State => STATES.find((each) => each.name === name)!;

test.each(
  sampled(
    'states at a terminate',
    names,
    0,
    ['in the tests of a proposal', 'in apply, all written', 'in verify'],
    WHOLE,
  ),
)(
  'terminated %s',
  async (name) => {
    const state = stateOf(name);
    const at = await reachState(state, (s) => (open = s));
    await withHandle(at.s, at.run, (handle) => handle.terminate('enough'));
    expect(await closedOf(at.s, at.run)).toMatchObject({ status: 'TERMINATED', result: null });
    await letGo(state, at, true);
    await expectEnded(state, at, 'terminated');
  },
  180_000,
);

test('terminated when it was finished: it stays finished', async () => {
  const state = stateOf('finished');
  const at = await reachState(state, (s) => (open = s));
  await withHandle(at.s, at.run, (handle) => handle.terminate('enough').catch(() => undefined));
  expect(
    (await at.s.show(await resolveRun(at.s.emend, at.run.stepKey))).status.result,
  ).toMatchObject({
    outcome: 'committed',
  });
  expect(await treeOf(at)).toEqual(treeAs(state, at.run, 'committed'));
}, 120_000);

describe('a run that somebody started with a time-out of its own', () => {
  const some = [
    'waiting for its first worker',
    'in a model call',
    'paused: approval',
    'in the tests of a proposal',
    'in verify',
    'in apply, all written',
  ];
  test.each(sampled('states at the time-out of a run', some, 0, ['in verify'], WHOLE))(
    'timed out %s',
    async (name) => {
      const state = stateOf(name);
      const at = await reachState(
        state,
        (s) => (open = s),
        (s) => {
          // As another program with the Temporal API might start it: Emend's own client sets none.
          const { runs } = s.emend;
          const start: NonNullable<typeof runs>['start'] = ({
            workflowId,
            taskQueue,
            input,
            memo,
          }) =>
            withHandle(s, { live: { workflowId } } as never, async (_handle, client) => {
              const handle = await client.workflow.start('editStep', {
                workflowId,
                taskQueue,
                args: [input],
                memo: { ...memo },
                workflowExecutionTimeout: '25s',
              });
              const { firstExecutionRunId: runId } = handle;
              const { namespace } = s.emend;
              const origin = { namespace, workflowId, firstRunId: runId, cronRunId: null };
              return { outcome: 'started', runId, stepKey: runKey(origin) };
            });
          Object.assign(s.emend, { runs: { ...runs, start } });
        },
      );
      expect(await closedOf(at.s, at.run)).toMatchObject({ status: 'TIMED_OUT', result: null });
      await letGo(state, at, true);
      await expectEnded(state, at, 'timed out');
    },
    240_000,
  );
});
