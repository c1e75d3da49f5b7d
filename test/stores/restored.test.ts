/** After a restore a run that began before it asks once before a call that the home does not know. */
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { ArchiveEntry } from '../../src/stores/ports.js';
import { putRestoredNote, repeatedCalls } from '../../src/stores/restored.js';

let home: string;
beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), 'emend-restored-')));
});
afterEach(() => {
  rmSync(home, { recursive: true, force: true });
});

const RESTORED_AT = '2026-02-01T00:00:00.000Z';
const NOTE = { restoredAt: RESTORED_AT, backupAt: '2026-01-31T00:00:00.000Z' };
const PLAN = 'a'.repeat(32);
const PHASE = `${PLAN}-p1-1`;
const started = (time: string): ArchiveEntry => ({
  id: 'started',
  at: time,
  kind: 'started',
  data: {},
});
const decided = (answer: string, time: string): ArchiveEntry => ({
  id: `event-${answer}`,
  at: time,
  kind: 'event',
  data: { seq: 1, at: Date.parse(time), type: 'decided', answer },
});
const EARLY = '2026-01-30T00:00:00.000Z';
const LATE = '2026-02-02T00:00:00.000Z';

const mayRepeat = (archives: Readonly<Record<string, readonly ArchiveEntry[]>>) =>
  repeatedCalls({ home, archive: { read: (stepKey) => Promise.resolve(archives[stepKey] ?? []) } });

test('a home that was never restored allows every call', async () => {
  expect(await mayRepeat({ [PLAN]: [started(EARLY)] })(PLAN)).toBeNull();
});

test.each<[string, readonly ArchiveEntry[], boolean]>([
  ['a run that began before', [started(EARLY)], true],
  ['a run that the backup does not know', [], true],
  ['a run that began later', [started(LATE)], false],
  ['a retry since then', [started(EARLY), decided('retry', LATE)], false],
  ['a regeneration since then', [started(EARLY), decided('regenerate', LATE)], false],
  ['a retry before', [started(EARLY), decided('retry', EARLY)], true],
  ['an approval since then', [started(EARLY), decided('approve', LATE)], true],
])('%s', async (_, entries, asks) => {
  await putRestoredNote(home, NOTE);
  const message = await mayRepeat({ [PLAN]: entries })(PLAN);
  expect(message === null).toBe(!asks);
  if (asks)
    expect(message).toContain(`restored at ${RESTORED_AT} from a backup of ${NOTE.backupAt}`);
});

test('a phase that an older plan starts again asks, although its own run is new', async () => {
  await putRestoredNote(home, NOTE);
  const begun = { [PLAN]: [started(EARLY)], [PHASE]: [started(LATE)] };
  expect(await mayRepeat(begun)(PHASE)).not.toBeNull();
  expect(await mayRepeat({ ...begun, [PLAN]: [started(LATE)] })(PHASE)).toBeNull();
});
