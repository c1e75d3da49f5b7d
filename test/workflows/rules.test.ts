/**
 * ◆ What replay reads is input or state: with every limit, bound and answer of `src/shared` changed, each kept history replays as it went,
 * and tells the archive the same events.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from '@jest/globals';
import { BUNDLE, replayAll, type Told } from '../support/replay.js';
import { drawn, sampled } from '../support/seeded.js';

const dir = join(process.cwd(), 'test/histories');
interface History {
  events: {
    workflowExecutionStartedEventAttributes?: { input: { payloads: { data: string }[] } };
  }[];
}
/** Among them those that tell the most. */
const names = sampled('kept histories', readdirSync(dir), 7, [
  'edit-step-aborted.json',
  'plan-completed-after-a-cancel.json',
]);
const kept = (): Record<string, History> =>
  Object.fromEntries(
    names.map((name) => [name, JSON.parse(readFileSync(join(dir, name), 'utf8')) as History]),
  );

/** Numbers become others, lists empty. */
const ALTER = `(function alter(of) {
  if (Array.isArray(of)) of.length = 0;
  for (const [name, value] of Object.entries(of)) {
    if (typeof value === 'number') of[name] = value === 1 ? 2 : 1;
    else if (typeof value === 'object' && value !== null) alter(value);
  }
})`;
/** The built bundle with these constants of src/shared changed. Throws where one is not in it. */
const altered = (constants: readonly (readonly [module: string, name: string])[]): string =>
  constants.reduce(
    (code, [module, name]) => {
      const start = code.indexOf(`/***/ "./dist.new/src/shared/${module}.js"`);
      const end = code.indexOf('\n\n/***/ },', start);
      const text = code.slice(start, end);
      if (start < 0 || !text.includes(`\nconst ${name} = `))
        throw new Error(`the bundle has no ${module} ${name}`);
      return `${code.slice(0, end)}\n;${ALTER}(${name});\n${code.slice(end)}`;
    },
    readFileSync(BUNDLE, 'utf8'),
  );

const LIVE = [
  ['limits', 'LIMITS'],
  ['limits', 'TIMINGS'],
  ['limits', 'BOUNDS'],
  ...['STORE', 'MODEL', 'SHOWN', 'EDIT'].map((of) => ['bounds', `${of}_BOUNDS`] as const),
  ['decisions', 'ANSWERS_BY_REASON'],
  ['decisions', 'WHOLE_ANSWERS'],
  ['rules', 'REPLAN_ACTIONS'],
  ['activities', 'ACTIVITIES'],
] as const;

let plain: Told;
beforeAll(async () => {
  plain = await replayAll(kept(), readFileSync(BUNDLE, 'utf8'));
}, 60_000);

test('with every constant changed each kept history replays as it went', async () => {
  expect(Object.values(plain).flat().length).toBeGreaterThan(drawn(25, 100));
  expect(await replayAll(kept(), altered(LIVE))).toEqual(plain);
}, 60_000);
