/**
 * Cancel from the Temporal API in each state of a run: what is applied and not committed is rolled back, a commit under way comes to its
 * end, nothing is held, every call is accounted for. EMEND_WHOLE=1 runs all states, else a printed, seeded sample.
 */
import { afterEach, expect, test } from '@jest/globals';
import { resolveRun } from '../../src/client/index.js';
import { drawn, sampled, WHOLE } from '../support/seeded.js';
import { closedOf, eventually, withHandle } from './ends.js';
import { letGo, reachState, STATES, treeAs, treeOf } from './states.js';
import type { Scene } from './support.js';

let open: Scene | null = null;
afterEach(async () => {
  await open?.close();
  open = null;
});

const names = STATES.map(({ name }) => name);
test.each(
  sampled(
    'states at a cancel',
    names,
    drawn(0, 8),
    ['in apply, all written', 'in rollback, before it began'],
    WHOLE,
  ),
)(
  'cancelled %s',
  async (name) => {
    const state = STATES.find((each) => each.name === name)!;
    const at = await reachState(state, (s) => (open = s));
    const { s, run } = at;
    const finished = name === 'finished';
    await withHandle(s, run, async (handle) => {
      // Of a closed run some servers refuse it, others take no notice.
      if (finished) await handle.cancel().catch(() => undefined);
      else await handle.cancel();
    });
    await letGo(state, at, false);
    expect(await closedOf(s, run)).toMatchObject(
      state.cancelled === 'committed'
        ? { status: 'COMPLETED', result: { outcome: 'committed' } }
        : { status: 'CANCELLED', result: null },
    );
    const left = state.cancelled === 'committed' ? 'committed' : 'untouched';
    await eventually(
      'the end of what was under way',
      async () => (await treeOf(at)).left.length === 0,
    );
    expect(await treeOf(at)).toEqual(treeAs(state, run, left));
    const { status } = await s.show(await resolveRun(s.emend, run.stepKey));
    // With a worker that still knows a result, the same as without one: the server kept none of a cancelled run.
    expect({
      state: status.state,
      outcome: status.result?.outcome ?? null,
      calls: status.usage.calls,
    }).toEqual({
      ...(left === 'committed'
        ? { state: 'done', outcome: 'committed' }
        : { state: 'aborted', outcome: null }),
      calls: state.calls,
    });
  },
  180_000,
);
