/** What a review sends. */
import { describe, expect, test } from '@jest/globals';
import type { DecisionPoint } from '../../src/shared/decisions.js';
import { sendFault, requestsOf, type Verdict } from '../../src/web/page/model/verdicts.js';

const decision = (
  paths: readonly string[],
  answered: Record<string, 'approve'> = {},
): DecisionPoint => ({
  id: '1-abc-def',
  n: 1,
  reason: 'approval',
  message: '',
  files: paths.map((path) => ({ path, reason: 'approval', message: '' })),
  accepts: ['approve', 'skip', 'revise', 'abort'],
  proposalId: 'p',
  answered,
  openedAt: 0,
  subject: null,
});

describe('requestsOf', () => {
  test('one request a verdict; files without one are left open, those answered before are not sent again', () => {
    const verdicts = new Map<string, Verdict>([
      ['a', 'approve'],
      ['b', 'skip'],
      ['c', 'approve'],
      ['d', 'approve'],
    ]);
    expect(
      requestsOf(
        decision(['a', 'b', 'c', 'd', 'e'], { d: 'approve' }),
        { verdicts, comments: [] },
        '',
      ),
    ).toEqual([
      { decision: '1-abc-def', answer: 'approve', files: ['a', 'c'] },
      { decision: '1-abc-def', answer: 'skip', files: ['b'] },
    ]);
  });

  test('a file that is revised is told its own comments; the note goes to all', () => {
    const verdicts = new Map<string, Verdict>([
      ['a', 'revise'],
      ['b', 'revise'],
    ]);
    const comment = {
      spot: { path: 'a', side: 'after' as const, line: 3 },
      quoted: '  x = 1;',
      text: 'use a constant',
    };
    const whole = {
      spot: { path: 'b', side: 'after' as const, line: 0 },
      quoted: '',
      text: 'shorter',
    };
    const sent = requestsOf(
      decision(['a', 'b']),
      { verdicts, comments: [comment, whole] },
      'plainer',
    );
    expect(sent.map(({ files, note }) => [files, note])).toEqual([
      [['a'], 'plainer\n\na, line 3 of the proposed text (`x = 1;`): use a constant'],
      [['b'], 'plainer\n\nb: shorter'],
    ]);
    expect(sendFault(sent)).toBeNull();
  });

  test('a revision without words and an empty review cannot be sent; `constructor` is a file like any other', () => {
    const sent = requestsOf(
      decision(['constructor']),
      { verdicts: new Map([['constructor', 'revise' as const]]), comments: [] },
      ' ',
    );
    expect(sendFault(sent)).toContain('constructor');
    expect(sendFault([])).not.toBeNull();
  });

  test('a part goes last, as changes by path; of files that have an answer nothing is sent', () => {
    const verdicts = new Map<string, Verdict>([
      ['a', 'select'],
      ['b', 'approve'],
      ['c', 'select'],
    ]);
    const parts = { a: [1, 3], c: [2] };
    expect(
      requestsOf(
        decision(['a', 'b', 'c'], { c: 'approve' }),
        { verdicts, comments: [] },
        '',
        parts,
      ),
    ).toEqual([
      { decision: '1-abc-def', answer: 'approve', files: ['b'] },
      { decision: '1-abc-def', answer: 'select', select: { a: [1, 3] } },
    ]);
    // The words that were written beside it are not lost.
    const [part] = requestsOf(
      decision(['a']),
      { verdicts, comments: [] },
      ' the rest is later ',
      parts,
    );
    expect(part).toMatchObject({ answer: 'select', note: 'the rest is later' });
  });
});
