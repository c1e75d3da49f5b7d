/** A step over the most files there may be: the state stays bounded, and the work per file does not grow out of hand. */
import { expect, test } from '@jest/globals';
import { detailsOf } from '../../../src/workflows/step/views.js';
import { inOrder, StepDriver } from './step-driver.js';

const drive = (count: number, attempts: number): { driver: StepDriver; events: number } => {
  const files = Array.from({ length: count }, (_, index) => `src/folder/file-${index}.ts`);
  const refused = Object.fromEntries(
    files.map((file) => [file, Array.from({ length: attempts }, () => 'invalid')]),
  );
  const driver = new StepDriver(
    { files, limits: { maxAttemptsPerFile: attempts + 1, maxTotalChunks: 10_000 } },
    inOrder({ propose: refused }),
  );
  expect(driver.run(20_000)).toBe('waits');
  // Answered file by file, as a review page does.
  for (const path of files.slice(1)) expect(driver.say(['approve', { files: [path] }])).toBeNull();
  expect(driver.say('skip')).toBeNull();
  expect(driver.run(20_000)).toBe('closed');
  return { driver, events: driver.state.nextSeq - 1 };
};

test('1,000 files to the end: every file told of, the state bounded and linear', () => {
  const small = drive(100, 1);
  const large = drive(1000, 1);
  expect(large.driver.outcome).toBe('committed');
  expect(large.driver.state.applied.all[0]?.files).toHaveLength(999);
  const bytes = (driver: StepDriver): number => JSON.stringify(driver.state).length;
  expect(bytes(large.driver)).toBeLessThan(3_000_000);
  expect(bytes(large.driver) / bytes(small.driver)).toBeLessThan(11);
  expect(large.events / small.events).toBeLessThan(10.1);
  expect(Buffer.byteLength(detailsOf(large.driver.state))).toBeLessThan(20_000);
});

test('events are bounded: the newest stay, their numbers go on', () => {
  const { driver } = drive(600, 4);
  const { events, nextSeq } = driver.state;
  expect(events).toHaveLength(5000);
  expect(events.at(-1)?.seq).toBe(nextSeq - 1);
  expect(nextSeq - 1).toBeGreaterThan(6_000);
});
