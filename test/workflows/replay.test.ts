/** ◆ Every kept history replays: a deploy that breaks one would break somebody's paused run. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { replay, replays } from '../support/replay.js';

const dir = join(process.cwd(), 'test/histories');
const kept = readdirSync(dir).filter((name) => name.endsWith('.json'));

test('histories of finished and of paused runs are kept', () => {
  expect(kept.filter((name) => name.includes('paused')).length).toBeGreaterThanOrEqual(3);
  expect(kept.filter((name) => !name.includes('paused')).length).toBeGreaterThanOrEqual(3);
});

const historyOf = (name: string): unknown => JSON.parse(readFileSync(join(dir, name), 'utf8'));
const running = replays(Object.fromEntries(kept.map((name) => [name, historyOf(name)])));
afterAll(() => running.return?.());

test.each(kept)('%s', async (name) => {
  let next = await running.next();
  // Those before it may have been filtered out.
  while (next.done !== true && next.value.workflowId !== name) next = await running.next();
  if (next.done === true) throw new Error(`${name} was not replayed`);
  if (next.value.error !== undefined) throw next.value.error;
});

test('a history that today cannot have made is refused', async () => {
  const [first] = kept;
  const history = historyOf(first!) as {
    events: { activityTaskScheduledEventAttributes?: { activityType: { name: string } } }[];
  };
  const scheduled = history.events.find(
    (event) => event.activityTaskScheduledEventAttributes !== undefined,
  );
  scheduled!.activityTaskScheduledEventAttributes!.activityType.name = 'brew';
  await expect(replay(history, 'changed')).rejects.toThrow(/nondeterminism|determinism/i);
});
