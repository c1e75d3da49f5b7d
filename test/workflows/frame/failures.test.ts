/** An activity that failed for good, in the words of a decision point: what Temporal raises -> reason. */
import { expect, jest, test } from '@jest/globals';
import {
  type TimeoutType,
  ActivityFailure,
  ApplicationFailure,
  RetryState,
  TimeoutFailure,
} from '@temporalio/common';
import { resolveTimings } from '../../../src/temporal/settings.js';
import { ACTIVITIES, type ActivityName } from '../../../src/shared/activities.js';
import { failureOf, refuseUpdate, untilDone } from '../../../src/workflows/frame/failures.js';

const failed = (cause: Error): ActivityFailure =>
  new ActivityFailure(
    'activity failed',
    'activity',
    'id',
    RetryState.MAXIMUM_ATTEMPTS_REACHED,
    'worker',
    cause,
  );
const timeout = (type: TimeoutType): ActivityFailure =>
  failed(new TimeoutFailure('timed out', undefined, type));
const application = (type: string | undefined, message = 'it broke'): ActivityFailure =>
  failed(ApplicationFailure.create({ message, ...(type === undefined ? {} : { type }) }));

test.each<[string, unknown, ActivityName, string, RegExp]>([
  [
    'a host that takes no work',
    timeout('SCHEDULE_TO_START'),
    'applyProposal',
    'workspace_unreachable',
    /start its worker/,
  ],
  [
    'no worker for model calls',
    timeout('SCHEDULE_TO_START'),
    'proposeEdit',
    'model_unavailable',
    /no worker accepts model calls/,
  ],
  [
    'a host activity out of time',
    timeout('START_TO_CLOSE'),
    'buildProposal',
    'engine_failed',
    /START_TO_CLOSE/,
  ],
  [
    'a host activity without heartbeats',
    timeout('HEARTBEAT'),
    'runTests',
    'engine_failed',
    /HEARTBEAT/,
  ],
  [
    'a model call out of time',
    timeout('SCHEDULE_TO_CLOSE'),
    'proposeEdit',
    'model_unavailable',
    /SCHEDULE_TO_CLOSE/,
  ],
  ['a blob that is gone', application('blob_lost'), 'buildProposal', 'blob_lost', /it broke/],
  [
    'a blob that is gone, at the model',
    application('blob_lost'),
    'proposeEdit',
    'blob_lost',
    /it broke/,
  ],
  [
    'no API key',
    application('no_api_key', 'set ANTHROPIC_API_KEY'),
    'proposeEdit',
    'model_unavailable',
    /ANTHROPIC_API_KEY/,
  ],
  [
    'a model server that refuses',
    application('model_rejected'),
    'writeBrief',
    'model_unavailable',
    /it broke/,
  ],
  ['a full disk', application('disk'), 'applyProposal', 'engine_failed', /it broke/],
  ['a full disk, at the model', application('disk'), 'proposeEdit', 'engine_failed', /it broke/],
  [
    'a problem code that is a word of every object',
    application('constructor'),
    'buildProposal',
    'engine_failed',
    /it broke/,
  ],
  [
    'an unknown type at the model',
    application('Error'),
    'pickFiles',
    'model_unavailable',
    /it broke/,
  ],
  ['no type', application(undefined), 'commit', 'engine_failed', /it broke/],
  [
    'a bug in the workflow',
    new Error('no proposal yet'),
    'applyProposal',
    'engine_failed',
    /no proposal yet/,
  ],
  ['a value that is no error', 'x', 'applyProposal', 'engine_failed', /failed/],
])('%s', (_, error, activity, reason, message) => {
  const failure = failureOf(error, activity);
  expect(failure.reason).toBe(reason);
  expect(failure.message).toMatch(message);
});

test('a time-out of any activity is told in a sentence of its own, with a reason by what it calls', () => {
  const asksModel =
    /^(pickFiles|writeBrief|proposeEdit|auditChange|scorePhase|debugPhase|proposeReplan)$/;
  expect(new Set(Object.values(ACTIVITIES).map(({ work }) => work)).size).toBe(
    Object.keys(ACTIVITIES).length,
  );
  for (const [activity, { role, work }] of Object.entries(ACTIVITIES)) {
    const failed = (type: TimeoutType) => failureOf(timeout(type), activity as ActivityName);
    const wanted = asksModel.test(activity) ? 'model_unavailable' : 'engine_failed';
    for (const type of ['START_TO_CLOSE', 'SCHEDULE_TO_CLOSE', 'HEARTBEAT'] as const) {
      const { reason, message } = failed(type);
      expect({ activity, reason }).toEqual({ activity, reason: wanted });
      expect(message).toContain(`${work} timed out: `);
      expect(message).toContain(type);
    }
    const { reason, message } = failed('SCHEDULE_TO_START');
    expect({ activity, reason }).toEqual({
      activity,
      reason: role === 'model' ? 'model_unavailable' : 'workspace_unreachable',
    });
    expect(message).toMatch(work);
  }
});

test('a refused update is not tried again', () => {
  expect(refuseUpdate('no')).toMatchObject({
    type: 'answer_not_accepted',
    nonRetryable: true,
    message: 'no',
  });
});

test('a time-out an hour late is asked anew: the server stood still; not where the hour may have been that of an earlier attempt', async () => {
  const earlier = new TimeoutFailure('its worker died', undefined, 'HEARTBEAT');
  const queued = (cause?: Error) =>
    failed(Object.assign(new TimeoutFailure('queued', undefined, 'SCHEDULE_TO_START'), { cause }));
  const askedFor = async (error: Error): Promise<number> => {
    const clock = jest.spyOn(Date, 'now');
    let asked = 0;
    const work = (): Promise<never> => {
      clock.mockReturnValue(asked === 0 ? 3_600_000 : 3_600_001);
      return asked++ > 1 ? Promise.reject(new Error('enough')) : Promise.reject(error);
    };
    clock.mockReturnValue(0);
    await expect(untilDone(resolveTimings({}), work)).rejects.toThrow();
    clock.mockRestore();
    return asked;
  };
  expect(await askedFor(queued())).toBe(2);
  expect(await askedFor(queued(earlier))).toBe(1);
});
