/** What `emend events` and `emend stats` count of two recorded plans whose counts are known, read from an archive without a server. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { main } from '../../src/cli/main.js';
import type { StepEvent } from '../../src/shared/events.js';
import { createArchive } from '../../src/stores/directory/archive.js';
import { hostId } from '../../src/stores/home.js';
import { eventEntries } from '../../src/stores/ports.js';
import { BUNDLE, replayAll } from '../support/replay.js';
import { fakeIo } from './io.js';

interface History {
  readonly events: readonly {
    readonly activityTaskScheduledEventAttributes?: {
      readonly input: { readonly payloads: readonly Data[] };
    };
  }[];
}
interface Data {
  readonly data: string;
}
/** Returns the events that reach the archive: activities take some there, the workflow itself reports those before a pause. */
const recorded = async (name: string): Promise<readonly StepEvent[]> => {
  const history = JSON.parse(readFileSync(`test/histories/${name}.json`, 'utf8')) as History;
  const taken = history.events
    .flatMap((event) => event.activityTaskScheduledEventAttributes?.input.payloads ?? [])
    .flatMap(
      ({ data }) =>
        (JSON.parse(Buffer.from(data, 'base64').toString()) as { log?: StepEvent[] }).log ?? [],
    );
  const reported = (await replayAll({ [name]: history }, readFileSync(BUNDLE, 'utf8')))[name] ?? [];
  const events = new Map([...taken, ...reported].map((event) => [event.seq, event]));
  return [...events.values()].toSorted((a, b) => a.seq - b.seq);
};

/** One phase failed twice, a phase was added before it, all three passed. */
const REPLANNED = 'ab'.repeat(16);
/** One phase failed twice, was replanned, failed twice, was replanned, failed twice. */
const LIMIT = 'cd'.repeat(16);
/** Its worker was of a later build. */
const LATER = 'ef'.repeat(16);
let dir: string;
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'emend-recorded-'));
  await hostId(join(dir, 'home'));
  const archive = createArchive({ dir: join(dir, 'home', 'archive') });
  await archive.append(REPLANNED, eventEntries(await recorded('plan-completed-replanned'), 'run'));
  await archive.append(LIMIT, eventEntries(await recorded('plan-paused-replan-limit'), 'run'));
  const unheard = { seq: 1, at: 0, type: 'moon_risen', by: 'the moon' } as unknown as StepEvent;
  const last = { seq: 2, at: 1_000, type: 'plan_finished', outcome: 'completed' } as StepEvent;
  await archive.append(LATER, eventEntries([unheard, last], 'run'));
});
afterAll(() => {
  rmSync(dir, { recursive: true, force: true });
});

const printed = async (...args: readonly string[]): Promise<string> => {
  const env = {
    EMEND_HOME: join(dir, 'home'),
    TEMPORAL_ADDRESS: '127.0.0.1:1',
    EMEND_CONNECT_MS: '300',
    HOME: dir,
  };
  const io = fakeIo({ cwd: dir, env });
  expect({ exit: await main([...args], io), err: io.printed.err }).toMatchObject({ exit: 0 });
  return io.printed.out;
};

test('stats: a replan after which the phase failed into another one did not help', async () => {
  const none = { count: 0, of: 0 };
  expect(JSON.parse(await printed('stats', '--json'))).toMatchObject({
    plans: 2,
    phases: 4,
    replans: 3,
    phasesReplanned: 2,
    secondScores: 0,
    discrepancies: 0,
    loopStops: 1,
    failures: 8,
    replanSuccess: { count: 1, of: 3 },
    caughtWithinTwo: { count: 3, of: 3 },
    expansionAccuracy: none,
  });
  expect(JSON.parse(await printed('stats', REPLANNED, '--json'))).toMatchObject({
    plans: 1,
    phases: 3,
    replans: 1,
    phasesReplanned: 1,
    failures: 2,
    replanSuccess: { count: 1, of: 1 },
  });
  expect(JSON.parse(await printed('stats', LIMIT, '--json'))).toMatchObject({
    plans: 1,
    phases: 1,
    replans: 2,
    phasesReplanned: 1,
    failures: 6,
    replanSuccess: { count: 0, of: 2 },
  });
});

test('events --kind failures: each failure once, then counted by pattern', async () => {
  const lines = (await printed('events', LIMIT, '--kind', 'failures')).trimEnd().split('\n');
  expect(lines).toHaveLength(7);
  expect(lines.slice(0, 6).filter((line) => line.includes('Phase 1: tests failed'))).toHaveLength(
    6,
  );
  expect(lines[6]).toBe('6  Phase 1, unknown');
  const data = (await printed('events', LIMIT, '--kind', 'failures', '--json'))
    .trimEnd()
    .split('\n');
  expect(data.map((line) => (JSON.parse(line) as StepEvent).type)).toEqual(
    Array(6).fill('phase_failed'),
  );
});

test('events: one of a later build is told by its name, and those after it are told', async () => {
  expect(await printed('events', LATER)).toBe(
    '00:00:00  moon risen\n00:00:01  plan finished: completed\n',
  );
  const data = (await printed('events', LATER, '--json')).trimEnd().split('\n');
  expect(data.map((line) => (JSON.parse(line) as StepEvent).type)).toEqual([
    'moon_risen',
    'plan_finished',
  ]);
});
