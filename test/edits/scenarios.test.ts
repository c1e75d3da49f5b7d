/** Every folder of test/scenarios: data only, whole objects compared. */
import { describe, expect, test } from '@jest/globals';
import { runScenario, scenarioNames } from './scenario-run.js';

describe('scenarios', () => {
  test.each(scenarioNames())('%s', (name) => {
    const { found, wanted } = runScenario(name);
    expect(found).toEqual(wanted);
  });
});
