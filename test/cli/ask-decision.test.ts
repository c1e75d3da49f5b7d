import { describe, expect, test } from '@jest/globals';
import { menuLines, readReply } from '../../src/cli/ask-decision.js';
import {
  ANSWERS_BY_REASON,
  type DecisionPoint,
  type PauseReason,
} from '../../src/shared/decisions.js';

const decision = (reason: PauseReason, proposalId: string | null = '9'): DecisionPoint => ({
  id: '1-a',
  n: 1,
  reason,
  message: '',
  files: [
    { path: 'a.ts', reason, message: '' },
    { path: 'b.ts', reason, message: '' },
  ],
  accepts: [...ANSWERS_BY_REASON[reason], 'abort'],
  proposalId,
  answered: {},
  openedAt: 0,
  subject: null,
});

describe('the menu at a decision', () => {
  test.each(Object.keys(ANSWERS_BY_REASON) as PauseReason[])(
    '%s: every answer has a letter of its own',
    (reason) => {
      const open = decision(reason);
      const letters = menuLines(open).flatMap((text) => /^ {2}\[(.)\]/.exec(text)?.[1] ?? []);
      expect(new Set(letters).size).toBe(letters.length);
      expect(letters.length).toBe(open.accepts.length + 2);
      for (const [index, answer] of open.accepts.entries()) {
        expect(readReply(letters[index] ?? '', open)).toEqual({
          kind: 'answer',
          answer,
          files: [],
        });
        expect(readReply(answer.replace('_', '-').toUpperCase(), open)).toEqual({
          kind: 'answer',
          answer,
          files: [],
        });
      }
    },
  );

  test('in a narrow window a line goes on below its text', () => {
    const narrow = menuLines(decision('approval'), 60);
    expect(Math.max(...narrow.map((text) => text.length))).toBeLessThanOrEqual(60);
    expect(narrow.join('\n').replaceAll(/\n {6}/g, ' ')).toBe(
      menuLines(decision('approval')).join('\n'),
    );
    expect(narrow.length).toBeGreaterThan(menuLines(decision('approval')).length);
  });

  test('paths after the answer, diff, quit, and what is none of them', () => {
    const open = decision('approval');
    expect(readReply(' s  b.ts a.ts ', open)).toEqual({
      kind: 'answer',
      answer: 'skip',
      files: ['b.ts', 'a.ts'],
    });
    expect(readReply('d', open)).toEqual({ kind: 'diff' });
    expect(readReply('quit', open)).toEqual({ kind: 'quit' });
    expect(readReply('?', open)).toEqual({ kind: 'help' });
    for (const typed of ['', 'z'])
      expect(readReply(typed, open)).toMatchObject({
        message: expect.stringContaining('d (diff), q (quit), ?'),
      });
    for (const typed of ['', 'z', 'yes', 's c.ts', 'k'])
      expect(readReply(typed, open).kind).toBe('unclear');
    // Without a proposal there is no diff to show.
    expect(readReply('d', decision('truncation', null)).kind).toBe('unclear');
  });
});
