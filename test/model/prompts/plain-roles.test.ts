import { describe, expect, test } from '@jest/globals';
import {
  briefPrompt,
  closeBriefPrompt,
  newFilesIn,
  readBrief,
} from '../../../src/model/prompts/pick.js';
import type { PlainAnswer } from '../../../src/model/prompts/blocks.js';
import { allText, blocksOf, lastNonceWord, NONCE, textOf } from './support.js';

const common = {
  model: 'm',
  outputBudget_tokens: 2000,
  inputBudget_tokens: 100_000,
  instructions: 'Add a flag to the parser',
  rules: [{ path: 'AGENTS.md', content: 'RULE' }],
  hints: ['HINT'],
};
const brief = closeBriefPrompt(
  briefPrompt({
    ...common,
    files: [
      { path: 'a.ts', text: textOf('let a;\n') },
      { path: 'b.ts', text: null },
    ],
  }),
);
const answer = (text: string, changes: Partial<PlainAnswer> = {}): PlainAnswer => ({
  text,
  nonce: NONCE,
  stopReason: 'end_turn',
  requireMarker: true,
  ...changes,
});
const marked = (body: string): PlainAnswer => answer(`${body}\nEMEND-COMPLETE ${NONCE} 0 0\n`);

describe.each([['brief', brief, ['a.ts', 'b.ts', 'let a;']]] as const)(
  'the request for a %s',
  (_, built, says) => {
    const request = built.request(NONCE);
    test('has its nonce in the last block alone, as the last word of 8 hex digits', () => {
      expect(lastNonceWord(request)).toBe(NONCE);
      expect(built.haystack).not.toContain(NONCE);
      expect(blocksOf(request).at(-1)?.text.endsWith(`\nEMEND-COMPLETE ${NONCE} 0 0`)).toBe(true);
    });
    test('tells rules, hints, task and files', () => {
      for (const words of ['RULE', 'HINT', 'Add a flag to the parser', ...says])
        expect(allText(request)).toContain(words);
    });
    test('has at most four cache marks', () => {
      expect(
        [...request.system, ...blocksOf(request)].filter((block) => block.cache_control).length,
      ).toBe(3);
    });
  },
);

describe('readBrief', () => {
  test('takes a complete one without its marker', () => {
    expect(readBrief(marked('Shared: x'))).toEqual({ outcome: 'complete', body: 'Shared: x' });
  });
  test.each([
    ['cut by its budget', { ...marked('x'), stopReason: 'max_tokens' }, 'truncated'],
    ['without a stop reason', { ...marked('x'), stopReason: null }, 'truncated'],
    ['refused by the model', { ...marked('x'), stopReason: 'refusal' }, 'declined'],
    ['without marker', answer('x'), 'unmarked'],
    [
      'with the marker of another request',
      answer(`x\nEMEND-COMPLETE ${'f'.repeat(8)} 0 0`),
      'unmarked',
    ],
    ['with text after the marker', answer(`x\nEMEND-COMPLETE ${NONCE} 0 0\nmore`), 'unmarked'],
    ['empty', marked(''), 'unmarked'],
  ] as const)('%s: %s', (_, given, outcome) => {
    expect(readBrief(given).outcome).toBe(outcome);
  });
  test('cut at any byte: never complete', () => {
    const whole = marked('- **Shared**: `run(x)`').text.trimEnd();
    for (let at = 0; at < whole.length; at++)
      expect(readBrief(answer(whole.slice(0, at))).outcome).not.toBe('complete');
    expect(readBrief(answer(whole)).outcome).toBe('complete');
  });
  test.each([
    [
      'is left out',
      '<think>\nMaybe y\n</think>\nShared: x',
      { outcome: 'complete', body: 'Shared: x' },
    ],
    [
      'without its opening tag is left out',
      'Maybe y\n</think>\nShared: x',
      { outcome: 'complete', body: 'Shared: x' },
    ],
    ['that is not closed is never used', '<think>\nShared: y', { outcome: 'truncated' }],
  ] as const)('thinking %s', (_, text, reading) => {
    expect(readBrief(marked(text))).toMatchObject(reading);
  });
  test('a marker is not asked for where the project says so', () => {
    expect(readBrief(answer('x', { requireMarker: false }))).toEqual({
      outcome: 'complete',
      body: 'x',
    });
  });
});

describe('new files of a brief', () => {
  test('they are asked for where they may be made, and nothing else changes', () => {
    const text = (create?: boolean | string[]) =>
      allText(
        closeBriefPrompt(
          briefPrompt({ ...common, files: [], ...(create === undefined ? {} : { create }) }),
        ).request(NONCE),
      );
    expect(text(false)).toBe(text());
    expect(text()).toContain(
      'paths of new files that the task wants beyond those listed, or "none".',
    );
    expect(text(['docs/$&/**'])).toContain('with its path in backquotes');
    expect(text(['docs/$&/**'])).toContain('patterns: docs/$&/**.');
  });

  test.each([
    [
      'as it is asked for',
      '- **New files**:\n  - `src/a.ts`: holds it\n  - `b.ts`\n- **Else**: `c.ts`',
      'src/a.ts b.ts',
    ],
    ['beside the words', '- **New files**: `src/a.ts`', 'src/a.ts'],
    [
      'bare',
      '**New files:**\n\n- src/a.ts - holds it\n* b.ts (why)\n1. c/Makefile',
      'src/a.ts b.ts c/Makefile',
    ],
    ['under a heading', '## New files\n\n- `a.ts`\n\n## Files\n\n- `b.ts`', 'a.ts'],
    ['none', '- **New files**: none', ''],
    ['none in words', '- **New files**: none. Nothing is needed.', ''],
    ['several in one line', '- **New files**: `a.ts`, `b.ts`\n- `c.ts` and `d.ts`', ''],
    ['in prose', '**New files**\nThe file `a.ts` is made.', ''],
    ['a word alone', '- **New files**\n- parser\n- `a b.ts`', ''],
    ['elsewhere', '- **Files**: `a.ts`\n- no new files: `b.ts`', ''],
    ['no heading', '- `a.ts`', ''],
    ['nothing', '', ''],
  ])('%s', (_, text, expected) => {
    const found = newFilesIn(text);
    expect(found.map(({ path }) => path).join(' ')).toBe(expected);
    expect(found.every(({ isNew, why }) => isNew === true && why.startsWith('new file: '))).toBe(
      true,
    );
  });

  test('a hostile one is read in no time', () => {
    const begun = performance.now();
    for (const text of [
      '\n- '.repeat(50_000),
      `- **New files**${'\n- `'.repeat(50_000)}`,
      '**'.repeat(100_000),
    ])
      expect(newFilesIn(text)).toEqual([]);
    expect(performance.now() - begun).toBeLessThan(2000);
  });
});
