/** What a phase is expected to take: if nothing fails, and where its tests fail each time until a person is asked. */
import { expect, test } from '@jest/globals';
import { mostOfPhase } from '../../src/activities/plan/estimate.js';
import { parseConfig } from '../../src/documents/job/config.js';
import { resolveLimits } from '../../src/documents/job/limits.js';

const ASKED = { calls: 2, input_tokens: 4_000, output_tokens: 1_000, usd: 0.1 };

const most = (replanLimit: number, yaml = 'model: unheard-of') => {
  const config = parseConfig(yaml);
  if (!config.ok) throw new Error('the configuration is wrong');
  const limits = resolveLimits(config.value, { limits: {} }, {});
  return mostOfPhase(
    { config: config.value, limits },
    { text: 'Write `src/a.js`' },
    ASKED,
    replanLimit,
  );
};

test.each([
  // Three attempts; a report in two calls at most.
  [0, 3 * 2 + 2],
  // Six attempts; two reports and a replan between them.
  [1, 6 * 2 + 3 * 2],
  [2, 9 * 2 + 5 * 2],
])('with a limit of %i replans at most %i calls', (replanLimit, calls) => {
  const estimate = most(replanLimit);
  expect(estimate.calls).toBe(calls);
  // Whatever comes after a failure is shown its output.
  expect(estimate.input_tokens).toBeGreaterThan((replanLimit + 1) * 3 * ASKED.input_tokens);
  expect(estimate.usd).toBeNull();
});

test('in money where the prices are known', () => {
  const priced = most(0, 'model: m\nmodels: { m: { input_usd: 1, output_usd: 10 } }');
  expect(priced.usd).toBeGreaterThan(3 * ASKED.usd);
  expect(priced.usd).toBeLessThan(1);
});
