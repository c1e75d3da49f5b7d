/** On a pseudo-terminal, at every reason: each key that is shown does what it says, and every other printable key does nothing. */
import { spawnSync } from 'node:child_process';
import { stripVTControlCharacters } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { confirmationOf, menuEntries } from '../../src/cli/decision-menu.js';
import {
  ANSWERS_BY_REASON,
  takesSettings,
  type Answer,
  type PauseReason,
} from '../../src/shared/decisions.js';
import { transpile } from '../support/transpile.js';
import { PRINTABLE, questionOf } from './questions.js';

type Step = readonly [wait: string, typed: string];
const REASONS = Object.keys(ANSWERS_BY_REASON) as PauseReason[];
const PROMPT = '\n> ';
/** Keys of a terminal that send more than a character, and Enter. */
const OTHERS = ['\r', '\u001b[A', '\u0009', 's f1.ts'];

let child: ReturnType<typeof transpile>;
beforeAll(() => {
  child = transpile('menu', 'test/cli/menu-child.ts');
});
afterAll(() => {
  child.remove();
});

/** What an answer asks for before it counts. */
const DETAILS: Partial<Record<Answer, Step>> = {
  retry: ['neither): ', '\r'],
  revise: ['What should change? ', 'more\r'],
  other: ['Which command? ', 'npm test\r'],
  change_model: ['Which model? ', 'm2\r'],
  move: ['URL of a repository: ', '/w\r'],
};

const stepsOf = (reason: PauseReason): readonly Step[] => {
  const question = questionOf(reason, 1);
  const entries = menuEntries(question);
  const shown = entries.map(({ key }) => key);
  const unknown = [...PRINTABLE.filter((key) => !shown.includes(key)), ...OTHERS];
  return [
    [`REASON ${reason}`, ''],
    ...unknown.map((key): Step => [PROMPT, key]),
    ...entries.flatMap(({ key, action }): readonly Step[] => {
      if (action.kind !== 'answer') return [[PROMPT, key]];
      const asksNothing =
        action.answer === 'retry' && !takesSettings(question.decision, action.answer);
      const details = asksNothing ? undefined : DETAILS[action.answer];
      return [
        [PROMPT, key],
        ...(confirmationOf(question, action.answer) === null ? [] : [['[y/N', 'y'] as const]),
        ...(details === undefined ? [] : [details]),
      ];
    }),
  ];
};

test('at every reason each shown key works on a terminal, and no other key has an effect', () => {
  const steps = JSON.stringify(REASONS.flatMap(stepsOf));
  const args = ['test/support/terminal.py', '200', steps, process.execPath, child.path];
  const { stdout } = spawnSync('python3', args, {
    encoding: 'utf8',
    env: { ...process.env, NODE_OPTIONS: '', TERM: 'xterm' },
    maxBuffer: 64 * 1024 * 1024,
  });
  const { out, exit, missing } = JSON.parse(stdout) as {
    out: string;
    exit: number;
    missing: string | null;
  };
  expect([missing, exit]).toEqual([null, 0]);
  const parts = stripVTControlCharacters(out).replaceAll('\r', '').split('REASON ').slice(1);
  for (const [index, reason] of REASONS.entries()) {
    const part = parts[index] ?? '';
    const entries = menuEntries(questionOf(reason, 1));
    const choices = [...part.matchAll(/^CHOICE (.*)$/gm)].map(
      ([, text = '']) => JSON.parse(text) as { readonly kind: string; readonly answer?: string },
    );
    // `?` chooses nothing: it prints and asks again.
    const expected = entries
      .filter(({ action }) => action.kind !== 'explain')
      .map(({ name, action }) => (action.kind === 'answer' ? name : action.kind));
    expect([reason, choices.map(({ kind, answer }) => answer ?? kind)]).toEqual([reason, expected]);
    const refused = part.match(/ is not a key here\. /g) ?? [];
    expect([reason, refused.length]).toEqual([
      reason,
      PRINTABLE.length - entries.length + OTHERS.length,
    ]);
  }
});
