/** The menu at a decision: every key that is shown works, and no other; an answer for several files asks again. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { chooseAnswer, type Choice } from '../../src/cli/choose-answer.js';
import {
  actionOf,
  confirmationOf,
  explanationLines,
  menuEntries,
  menuLines,
  readConfirmation,
} from '../../src/cli/decision-menu.js';
import {
  ANSWERS_BY_REASON,
  hasOwnMeaning,
  takesSettings,
  type Answer,
  type PauseReason,
} from '../../src/shared/decisions.js';
import { fakeIo } from './io.js';
import { PRINTABLE, questionOf } from './questions.js';

const REASONS = Object.keys(ANSWERS_BY_REASON) as PauseReason[];

describe.each(REASONS)('%s', (reason) => {
  const question = questionOf(reason, 2);
  const entries = menuEntries(question);

  test('shows a key of its own for every answer, and no key twice', () => {
    const keys = entries.map(({ key }) => key);
    expect(new Set(keys).size).toBe(keys.length);
    const shown = menuLines(question).flatMap((line) => /^ {2}\[(.)\]/.exec(line)?.[1] ?? []);
    expect(shown).toEqual(keys);
    for (const answer of question.decision.accepts)
      expect(entries.map(({ name }) => name)).toContain(answer === 'select' ? 'hunks' : answer);
    expect(keys).toEqual(expect.arrayContaining(['d', '?', 'q']));
  });

  test('takes exactly the keys that it shows', () => {
    const taken = PRINTABLE.filter((key) => actionOf(key, question) !== null);
    expect(taken).toEqual(entries.map(({ key }) => key).sort());
    for (const typed of ['', '\r', '\n', ' ', '\u001b', '\u001b[A', 'sy', 's src/a.ts'])
      expect(actionOf(typed, question)).toBeNull();
  });

  test('explains every key by a consequence that the menu does not have', () => {
    const menu = menuLines(question).join('\n');
    for (const { key, consequence } of entries) {
      expect(explanationLines(question).join('\n')).toContain(`  [${key}] `);
      expect(consequence).toMatch(/^[A-Z].*\.$/);
      expect(menu).not.toContain(consequence);
    }
  });
});

describe.each(REASONS.filter((reason) => ANSWERS_BY_REASON[reason].some((a) => a === 'retry')))(
  'retry at %s',
  (reason) => {
    const question = questionOf(reason, 1);
    const { decision } = question;

    test('asks for a limit or a hint only if a model is asked', async () => {
      const io = fakeIo({ isTty: true, typed: ['r', ''] });
      const signal = new AbortController().signal;
      const placeSettings = () => Promise.resolve({});
      const choice = await chooseAnswer({ io, signal, placeSettings }, question);
      expect(choice).toMatchObject({ kind: 'answer', answer: 'retry' });
      expect(io.asked.join()).toEqual(
        takesSettings(decision, 'retry')
          ? expect.stringContaining('LIMIT=VALUE')
          : expect.not.stringContaining('LIMIT=VALUE'),
      );
    });

    test('has a sentence of its own if no model is asked', () => {
      const mayBeGeneral = takesSettings(decision, 'retry');
      expect(mayBeGeneral || hasOwnMeaning(decision, 'retry')).toBe(true);
    });
  },
);

test.each(['baseline', 'configuration'] as const)(
  'docs/decision-points.md has a sentence on each answer at %s',
  (reason) => {
    const docs = readFileSync('docs/decision-points.md', 'utf8');
    const section = docs.split(/^## /m).find((part) => part.startsWith(`${reason}\n`)) ?? '';
    for (const answer of ANSWERS_BY_REASON[reason])
      expect(section).toMatch(new RegExp(`^\\| \`${answer}\` \\| .{20,} \\|$`, 'm'));
  },
);

test('without a proposal there is no key for its diff or its hunks', () => {
  const names = menuEntries(questionOf('approval', 0)).map(({ name }) => name);
  expect(names).toEqual(['approve', 'skip', 'revise', 'abort', 'explain', 'quit']);
});

test('in a narrow window a line goes on below its text', () => {
  const narrow = menuLines(questionOf('approval', 2), 60);
  expect(Math.max(...narrow.map((text) => text.length))).toBeLessThanOrEqual(60);
  expect(narrow.join('\n').replaceAll(/\n {6}/g, ' ')).toBe(
    menuLines(questionOf('approval', 2)).join('\n'),
  );
});

describe('an answer that concerns several files', () => {
  test.each<[PauseReason, Answer, string]>([
    ['approval', 'approve', 'Approve all 5 files? [y/N, or paths] '],
    ['approval', 'skip', 'Skip all 5 files? [y/N, or paths] '],
    ['approval', 'revise', 'Revise all 5 files? [y/N, or paths] '],
    ['conflict', 'take_theirs', 'Take theirs for all 5 files? [y/N, or paths] '],
    ['truncation', 'approve', 'Approve 5 files and leave out 5 files? [y/N] '],
    ['approval', 'abort', 'Abort: end the run and roll back uncommitted changes? [y/N] '],
  ])('at %s, %s asks with the number of files', (reason, answer, text) => {
    expect(confirmationOf(questionOf(reason, 5), answer)?.text).toBe(text);
  });

  test('counts only files without an answer', () => {
    const { decision, proposal } = questionOf('approval', 3);
    const question = {
      decision: { ...decision, answered: { 'f1.ts': 'skip' as const } },
      proposal,
    };
    expect(confirmationOf(question, 'skip')).toEqual({
      text: 'Skip the 2 files without an answer? [y/N, or paths] ',
      paths: ['f2.ts', 'f3.ts'],
    });
  });

  test('counts the files of the proposal where the decision names none', () => {
    const { decision, proposal } = questionOf('tests_failed', 5);
    const question = { decision: { ...decision, files: [] }, proposal };
    expect(confirmationOf(question, 'keep')).toMatchObject({
      text: expect.stringContaining('Keep (5 files): '),
      paths: null,
    });
    expect(confirmationOf(question, 'revise')).toBeNull();
  });

  test('asks before it skips what has no number of files', () => {
    const { decision } = questionOf('estimate', 0);
    const question = { decision: { ...decision, files: [] }, proposal: null };
    expect(confirmationOf(question, 'skip')?.text).toContain('[y/N]');
    expect(confirmationOf(question, 'retry')).toBeNull();
  });
});

test('one file takes one key, and only an abort asks again', () => {
  const question = questionOf('approval', 1);
  for (const answer of question.decision.accepts)
    expect(confirmationOf(question, answer) === null).toBe(answer !== 'abort');
});

describe('a confirmation', () => {
  const confirmation = { text: '', paths: ['src/a.ts', 'with blank.ts', 'y'] };
  test.each([
    ['y', { kind: 'yes', files: [] }],
    [' YES ', { kind: 'yes', files: [] }],
    ['', { kind: 'no' }],
    ['n', { kind: 'no' }],
    ['src/a.ts', { kind: 'yes', files: ['src/a.ts'] }],
    [' ./src/a.ts  src/a.ts', { kind: 'yes', files: ['src/a.ts'] }],
    ['./y', { kind: 'yes', files: ['y'] }],
    ['with blank.ts', { kind: 'yes', files: ['with blank.ts'] }],
    [`'with blank.ts' src/a.ts`, { kind: 'yes', files: ['with blank.ts', 'src/a.ts'] }],
    ['src/b.ts', { kind: 'unclear', message: expect.stringContaining('src/b.ts is not one of') }],
  ])('reads %j', (typed, expected) => {
    expect(readConfirmation(typed, confirmation)).toEqual(expected);
  });

  test('for all files together takes y and nothing else', () => {
    for (const typed of ['', 'n', 'src/a.ts', 'yy'])
      expect(readConfirmation(typed, { text: '', paths: null })).toEqual({ kind: 'no' });
  });
});

const choose = async (typed: (string | null)[], files = 5): Promise<[Choice | null, string]> => {
  const io = fakeIo({ isTty: true, typed });
  const dialog = {
    io,
    signal: new AbortController().signal,
    placeSettings: () => Promise.resolve({ host: 'h' }),
  };
  return [await chooseAnswer(dialog, questionOf('approval', files)), io.printed.out];
};

test('a confirmation that is declined sends nothing and asks for another key', async () => {
  const [choice, printed] = await choose(['s', '', 'x', '\r', 'a', null, 'q']);
  expect(choice).toEqual({ kind: 'quit' });
  expect(printed.match(/Nothing was sent\./g)).toHaveLength(3);
});

test('paths at the confirmation limit the answer to these files', async () => {
  const [choice, printed] = await choose(['s', 'f9.ts', 'f2.ts']);
  expect(printed).toContain('f9.ts is not one of');
  expect(choice).toEqual({ kind: 'answer', answer: 'skip', files: ['f2.ts'] });
});

test('a revision without a note is none', async () => {
  const [choice] = await choose(['r', 'y', ' ', 'q']);
  expect(choice).toEqual({ kind: 'quit' });
});
