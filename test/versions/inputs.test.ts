/**
 * ◆ Inputs that a release scheduled (test/inputs, with its stores) are carried out by today's activities with the same results: what
 * was recorded is returned, no model is asked, the same proposals are sealed and the same files written. A worker of today that takes
 * over a queue of then does just this.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import { MockActivityEnvironment } from '@temporalio/testing';
import { pino } from 'pino';
import { createActivities } from '../../src/activities/index.js';
import { resolveStore } from '../../src/stores/location.js';
import { createPorts } from '../../src/worker/adapters.js';
import { KEPT, unpackPlace, type Place } from '../support/kept-inputs.js';

const kept = readdirSync(KEPT)
  .filter((name) => name.endsWith('.json'))
  .map((name) => name.replace(/\.json$/, ''));
/** Whoever asks a model gets no answer, and the test fails. */
const NO_MODEL = { ANTHROPIC_BASE_URL: 'http://127.0.0.1:9', ANTHROPIC_API_KEY: 'none' };

let open: Place | null = null;
afterEach(() => {
  open?.remove();
  open = null;
});

type Activities = Record<string, (input: unknown) => Promise<unknown>>;
const activitiesOf = async (place: Place): Promise<Activities> => {
  const env = { ...process.env, ...NO_MODEL, EMEND_HOME: place.home };
  const logger = pino({ level: 'silent' });
  const store = await resolveStore(env, place.home);
  const ports = await createPorts({ env, home: place.home, logger }, store, {
    stateOfHolder: () => Promise.resolve({ state: 'unknown', why: 'no_answer' }),
    endOf: () => Promise.resolve({ v: 1, outcome: 'open' }),
  });
  const { host, model } = createActivities(ports);
  return { ...host, ...model } as unknown as Activities;
};

/** What differs from one run to the next: times, and what is made of them. */
const PASSING = new Set(['seconds', 'ms', 'duration_s', 'startedAt', 'at', 'commit', 'lease', 'output', 'waited_ms']);
const lasting = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(lasting);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, each]) => (PASSING.has(name) ? [] : [[name, lasting(each)]])),
  );
};

/** `tally` came after 0.1.0. */
const KINDS = 'apply brief commit pick preflight propose rebase rollback seal verify'.split(' ');

test('every kind of activity of the release is among what is kept', () => {
  const seen = new Set(
    kept.flatMap((name) => {
      const { events } = JSON.parse(readFileSync(join(KEPT, `${name}.json`), 'utf8')) as Place['run'];
      return events.flatMap((event) => ('activity' in event ? [event.activity] : []));
    }),
  );
  expect([...seen].sort()).toEqual(KINDS);
});

test.each(kept)('%s', async (name) => {
  const place = (open = unpackPlace(name));
  const activities = await activitiesOf(place);
  const environment = new MockActivityEnvironment();
  for (const event of place.run.events) {
    if ('save' in event) {
      writeFileSync(join(place.workspace, event.save), event.content);
      continue;
    }
    const result = await environment.run(activities[event.activity]!, event.input);
    expect({ [event.activity]: lasting(result) }).toMatchObject({ [event.activity]: lasting(event.result) as object });
  }
  if (!name.endsWith('committed')) return;
  const git = (...args: string[]): string =>
    execFileSync('git', args, { cwd: place.workspace, encoding: 'utf8' }).trim();
  expect(git('show', '--format=%s', '--name-only', 'HEAD').split(/\n+/)).toEqual(['Grow', 'a.js', 'b.js']);
  expect(git('status', '--porcelain')).toBe('?? job.md');
});
