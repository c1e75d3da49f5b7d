/** Every file of test/scenarios: data only, whole objects compared. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import type { Syntax } from '../../src/edits/syntax-port.js';
import { loadAllSyntax, runScenario, scenarioNames } from './scenario-run.js';

describe('scenarios', () => {
  let syntax: Syntax;
  beforeAll(async () => {
    syntax = await loadAllSyntax();
  });
  test.each(scenarioNames())('%s', (name) => {
    const { found, wanted } = runScenario(name, syntax);
    expect(found).toEqual(wanted);
  });
});
