/** Configuration that a model may have written, on the rules alone: the question, and what its answers do. */
import { describe, expect, test } from '@jest/globals';
import { play, type Case } from './step-driver.js';

describe('a question about configuration', () => {
  test.each<Case>([
    {
      name: 'trusted: the files are read, with what was accepted',
      words: { preflight: ['untrusted', 'untrusted'] },
      decisions: ['trust'],
      effects:
        'preflight > ask configuration > say trust > preflight > propose * > build > ask approval a.ts',
    },
    {
      name: 'restored: the files are read again',
      words: { preflight: ['untrusted', 'ready'] },
      decisions: ['retry'],
      effects:
        'preflight > ask configuration > say retry > preflight > propose * > build > ask approval a.ts',
    },
    {
      name: 'not restored: asked again',
      words: { preflight: ['untrusted', 'untrusted'] },
      decisions: ['retry'],
      effects: 'preflight > ask configuration > say retry > preflight > ask configuration',
    },
    {
      name: 'aborted: nothing was done',
      words: { preflight: ['untrusted'] },
      decisions: ['abort'],
      effects: 'preflight > ask configuration > say abort > aborted',
    },
  ])('$name', (row) => {
    expect(play(row).trace.join(' > ')).toBe(row.effects);
  });
});
