/** Which workers the server gives no runs, by what their names say. */
import { expect, test } from '@jest/globals';
import { commandToSetCurrent, idleWorker } from '../../src/temporal/deployment.js';
import { workerIdentity } from '../../src/temporal/live-workers.js';

const worker = (build: string, isVersioned: boolean): string =>
  workerIdentity(
    'ab'.repeat(16),
    'cd'.repeat(16),
    { name: 'vm', boot: '12345678', build },
    isVersioned,
  );
const [plain, first, second] = [worker('1', false), worker('1', true), worker('2', true)];

test.each([
  ['no build', plain, { current: null, ramping: null }, false],
  ['no build', first, { current: null, ramping: null }, true],
  ['build 1', plain, { current: '1', ramping: null }, true],
  ['build 1', first, { current: '1', ramping: null }, false],
  ['build 1', second, { current: '1', ramping: null }, true],
  ['build 1, and build 2 ramps', second, { current: '1', ramping: '2' }, false],
  ['no build, and build 2 ramps', plain, { current: null, ramping: '2' }, false],
])('while %s is current, is %s given nothing? %j: %s', (_, identity, builds, isIdle) => {
  expect(idleWorker([identity], builds)).toBe(isIdle ? identity : undefined);
});

test('a worker that does not say what it is counts as one that works', () => {
  expect(idleWorker(['7@vm'], { current: '1', ramping: null })).toBeUndefined();
});

test('the command names a build, or the workers without versions', () => {
  const command = 'temporal worker deployment set-current-version --deployment-name emend';
  expect(commandToSetCurrent('0.1.0+ab')).toBe(`${command} --build-id 0.1.0+ab`);
  expect(commandToSetCurrent(null)).toBe(`${command} --unversioned`);
});
