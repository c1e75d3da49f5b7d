/** Each place, each fact and each decision of a step belongs to one stage. The types prove that none is missing; here none is in two. */
import { expect, test } from '@jest/globals';
import * as apply from '../../../../src/workflows/step/stages/apply.js';
import * as build from '../../../../src/workflows/step/stages/build.js';
import * as commit from '../../../../src/workflows/step/stages/commit.js';
import * as preflight from '../../../../src/workflows/step/stages/preflight.js';
import * as propose from '../../../../src/workflows/step/stages/propose/index.js';
import * as review from '../../../../src/workflows/step/stages/review.js';
import * as verify from '../../../../src/workflows/step/stages/verify/index.js';

const STAGES = { preflight, propose, build, review, apply, verify, commit };

const ownersOf = (part: 'next' | 'on' | 'decide'): Readonly<Record<string, readonly string[]>> => {
  const owners: Record<string, string[]> = {};
  for (const [stage, rules] of Object.entries(STAGES))
    for (const name of Object.keys(rules[part])) (owners[name] ??= []).push(stage);
  return owners;
};

test.each(['next', 'on', 'decide'] as const)('nothing in `%s` belongs to two stages', (part) => {
  const shared = Object.entries(ownersOf(part)).filter(([, stages]) => stages.length > 1);
  // Both ask about a conflict; the place decides which of them takes up the answer.
  expect(shared).toEqual(part === 'decide' ? [['conflict', ['apply', 'commit']]] : []);
});
