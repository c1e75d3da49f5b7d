import { expect, test } from '@jest/globals';
import { conflictText } from '../../../src/activities/frame/edit-work.js';
import { rebase3 } from '../../../src/edits/merge.js';

const told = (base: string, now: string, proposed: string): string => {
  const [o, a, b] = [base, now, proposed].map((text) => Buffer.from(text));
  const merged = rebase3(o!, a!, b!);
  if (merged.outcome !== 'conflict') throw new Error('the merge is clean');
  return conflictText(merged.regions, a!, b!);
};

test('both sides of an unclean merge are said', () => {
  expect(told('a\nb\nc\n', 'a\nmine\nc\n', 'a\nits\nown\nc\n')).toBe(
    'lines 2 to 2 of the file now and lines 2 to 3 of the proposal change the same place (now: "mine"; proposal: "its", "own")',
  );
});

test('a side that takes lines away says nothing, long ones are cut', () => {
  const long = 'x'.repeat(200);
  const words = told('a\nb\nc\n', 'a\nc\n', `a\n${`${long}\n`.repeat(5)}c\n`);
  expect(words).toContain('now: nothing;');
  expect(words).toContain(`"${'x'.repeat(80)}", and 2 more)`);
});

test('of many places the first are told', () => {
  const sides = (word: string): string =>
    Array.from({ length: 6 }, (_, i) => `${word}${i}\nsame ${i}\nsame too ${i}\n`).join('');
  expect(told(sides('base'), sides('now'), sides('its'))).toMatch(/; and 3 more places$/);
});
