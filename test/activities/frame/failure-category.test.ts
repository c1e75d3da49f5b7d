/** Which failures of activities count as failures: Temporal counts and logs all but those of the category BENIGN. */
import { expect, test } from '@jest/globals';
import { ActivityCancellationDetails, ApplicationFailureCategory } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { activity } from '../../../src/activities/frame/activity.js';
import type { ActivityPorts } from '../../../src/activities/frame/ports.js';
import { HANDED_BACK } from '../../../src/shared/activities.js';
import { fail, versioned, type ProblemCode } from '../../../src/shared/problems.js';
import { resolveTimings } from '../../../src/temporal/settings.js';

const PORTS = {
  timings: resolveTimings({}),
  checkHome: () => Promise.resolve(),
  archive: { append: () => Promise.resolve() },
  logger: { warn: () => undefined },
} as unknown as ActivityPorts;
const INPUT = versioned({ stepKey: 'ab'.repeat(16), log: [], handsBack: true as const });
const { BENIGN } = ApplicationFailureCategory;

test.each<readonly [ProblemCode, string | undefined]>([
  ['busy', BENIGN],
  ['disk', undefined],
  ['store_unusable', undefined],
  ['home_unusable', undefined],
  ['blob_lost', undefined],
  ['git_failed', undefined],
  ['limit_reached', undefined],
])('a failure of the code %s has the category %s', async (code, category) => {
  const run = new MockActivityEnvironment().run(
    activity('commit', PORTS, () => fail(code, 'It failed.')),
    INPUT,
  );
  const failure = await run.catch((error: unknown) => error);
  expect(failure).toMatchObject({ type: code });
  expect((failure as { readonly category?: string }).category).toBe(category);
});

test('what a worker that stops hands back is no failure to be counted', async () => {
  const environment = new MockActivityEnvironment();
  const details = new ActivityCancellationDetails({ workerShutdown: true });
  const run = environment.run(
    activity('commit', PORTS, () => {
      environment.cancel('WORKER_SHUTDOWN', details);
      return fail('disk', 'It was cut short.');
    }),
    INPUT,
  );
  await expect(run).rejects.toMatchObject({ type: HANDED_BACK, category: BENIGN });
});

test('an error that nobody expected counts', async () => {
  const run = new MockActivityEnvironment().run(
    activity('commit', PORTS, () => Promise.reject(new TypeError('a bug'))),
    INPUT,
  );
  const failure: unknown = await run.catch((error: unknown) => error);
  expect(failure).toMatchObject({ type: 'internal' });
  expect((failure as { readonly category?: string }).category).toBeUndefined();
});
