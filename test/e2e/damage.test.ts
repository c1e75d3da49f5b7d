/**
 * One file of a home is damaged while its runs are in every state: commands and a worker name the file, every other run comes to its end, and
 * no call is paid for twice. `npm test` draws 25 damages and lets a worker meet every fifth, `npm run test:long` 500 and every one.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { drawn, randomFrom, seed } from '../support/seeded.js';
import {
  damageOne,
  inflict,
  ownersIn,
  whatFollows,
  type Damage,
  type Followed,
} from './damage-support.js';
import { everyState, OPEN_STATES, STATES, type EveryState, type State } from './every-state.js';

const DAMAGES = drawn(25, 500);
const WORKER_EVERY = drawn(5, 1);
const TEST_DAMAGES = 5;
/** Without a worker every fourth run is shown, each time others. */
const SHOWN_EVERY = 4;

let s: EveryState;
beforeAll(async () => {
  s = await everyState();
}, 240_000);
afterAll(() => s.close());

const ENDS: Readonly<Record<string, string>> = {
  running: 'committed',
  waiting: 'committed',
  hooked: 'committed',
  plan: 'completed',
};
/** After an end as above; the plan commits two phases, their merge and marks. */
const COMMITS: Readonly<Record<State, number>> = {
  running: 1,
  waiting: 1,
  applied: 0,
  hooked: 1,
  committed: 1,
  aborted: 0,
  terminated: 0,
  plan: 5,
};
/** The message of a decision names the file, or the content in it. */
const NAMES = /sha256:[0-9a-f]{8}|\/home\/|steps\//;

const check = (damage: Damage | null, found: Followed): void => {
  const owners = damage === null ? [] : ownersIn(s, damage);
  const others = STATES.filter((state) => !owners.includes(state));
  expect(found.faults).toEqual([]);
  expect(found.unlisted).toEqual([]);
  expect(others.filter((state) => found.hidden.includes(state))).toEqual([]);
  expect(found.paid).toBe(0);
  for (const state of STATES)
    expect({ state, many: found.commits[state] > COMMITS[state] }).toEqual({ state, many: false });
  if (found.ends === null) return;
  const ends = found.ends;
  const expected = OPEN_STATES.filter((state) => others.includes(state));
  expect(Object.fromEntries(expected.map((state) => [state, ends[state]]))).toEqual(
    Object.fromEntries(expected.map((state) => [state, ENDS[state]])),
  );
  for (const state of owners.filter((owner) => OPEN_STATES.includes(owner)))
    if (ends[state] !== ENDS[state]) expect(ends[state]).toMatch(NAMES);
};

test('nothing is damaged: every run comes to its end, and no call is made', async () => {
  check(null, await whatFollows(s, { withWorker: true, shown: STATES }));
}, 120_000);

describe.each(
  Array.from({ length: Math.ceil(DAMAGES / TEST_DAMAGES) }, (_, index) => index * TEST_DAMAGES),
)('damages from %i on', (first) => {
  test(`are named, and lose no other run (seed ${seed})`, async () => {
    for (let n = first; n < Math.min(first + TEST_DAMAGES, DAMAGES); n++) {
      s.restore();
      const damage = damageOne(s.home, randomFrom(seed + n));
      inflict(s.home, damage);
      const withWorker = n % WORKER_EVERY === 0;
      const shown = STATES.filter(
        (_, index) => withWorker || index % SHOWN_EVERY === n % SHOWN_EVERY,
      );
      const found = await whatFollows(s, { withWorker, shown });
      try {
        check(damage, found);
      } catch (error) {
        throw new Error(`damage ${n} of seed ${seed}: ${JSON.stringify(damage)}`, { cause: error });
      }
    }
  }, 300_000);
});
