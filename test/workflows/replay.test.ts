/** ◆ Every kept history replays: a deploy that breaks one would break somebody's paused run. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { replay } from '../support/replay.js';

const dir = join(process.cwd(), 'test/histories');
const kept = readdirSync(dir).filter((name) => name.endsWith('.json'));

test('histories of finished and of paused runs are kept', () => {
  expect(kept.filter((name) => name.includes('paused')).length).toBeGreaterThanOrEqual(3);
  expect(kept.filter((name) => !name.includes('paused')).length).toBeGreaterThanOrEqual(3);
});

test.each(kept)('%s', async (name) => {
  await replay(JSON.parse(readFileSync(join(dir, name), 'utf8')), name);
});

test('a history that today cannot have made is refused', async () => {
  const [first] = kept;
  const history = JSON.parse(readFileSync(join(dir, first!), 'utf8')) as {
    events: { activityTaskScheduledEventAttributes?: { activityType: { name: string } } }[];
  };
  const scheduled = history.events.find((event) => event.activityTaskScheduledEventAttributes !== undefined);
  scheduled!.activityTaskScheduledEventAttributes!.activityType.name = 'brew';
  await expect(replay(history, 'changed')).rejects.toThrow(/nondeterminism|determinism/i);
});
