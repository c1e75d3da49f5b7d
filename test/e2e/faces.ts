/**
 * Answers as people and scripts give them: what a terminal shows of a decision and what `emend show --json` prints of it is the same, and
 * one of both takes the answer. EMEND_FACE=terminal | command says which; else the seed does. EMEND_FACES=FILE gets a line for each.
 */
import { appendFileSync } from 'node:fs';
import { expect } from '@jest/globals';
import { askDecision } from '../../src/cli/ask-decision.js';
import { confirmationOf, menuEntries, type Question } from '../../src/cli/decision-menu.js';
import { main } from '../../src/cli/main.js';
import {
  showRun,
  type DecideOptions,
  type DecideResult,
  type Emend,
  type ResolvedRun,
} from '../../src/client/index.js';
import type { DecisionPoint } from '../../src/shared/decisions.js';
import { fakeIo } from '../cli/io.js';
import { randomFrom, seed } from '../support/seeded.js';

interface At {
  readonly emend: Emend;
  readonly env: Record<string, string | undefined>;
  readonly repo: string;
}
type Given = Pick<DecideOptions, 'answer' | 'files' | 'note' | 'set'>;
const random = randomFrom(seed);
const looked = new Set<string>();

/** Throws what the face says where it is refused. */
export const answerByFace = async (
  at: At,
  run: ResolvedRun,
  decision: DecisionPoint,
  given: Given,
): Promise<DecideResult> => {
  if (!looked.has(decision.reason)) await look(at, run, decision);
  looked.add(decision.reason);
  const wanted = process.env.EMEND_FACE ?? (random() < 0.5 ? 'terminal' : 'command');
  const { proposal } = await showRun(at.emend, run);
  const question = {
    decision,
    proposal: proposal?.id === decision.proposalId ? proposal : null,
  };
  const typed = typedFor(question, given);
  const face = wanted === 'terminal' && typed !== null ? 'terminal' : 'command';
  if (process.env.EMEND_FACES !== undefined)
    appendFileSync(process.env.EMEND_FACES, `${decision.reason} ${face} ${given.answer}\n`);
  if (face === 'command' || typed === null) return byCommand(at, run, decision, given);
  const io = fakeIo({ isTty: true, env: at.env, cwd: at.repo, typed });
  const asked = await askDecision(
    { io, emend: at.emend, flags: {} },
    run,
    decision,
    new AbortController().signal,
  );
  if (asked === 'left' || asked === 'changed') throw new Error(`${asked}: ${io.printed.out}`);
  const outcome = asked === 'again' ? 'recorded' : 'resolved';
  return { outcome, decision: decision.id, message: io.printed.out, via: 'update' };
};

/** Both show the decision, and leave it waiting. */
const look = async (
  { emend, env, repo }: At,
  run: ResolvedRun,
  decision: DecisionPoint,
): Promise<void> => {
  const terminal = fakeIo({ isTty: true, env, cwd: repo, typed: ['?', 'q'] });
  const { signal } = new AbortController();
  expect(await askDecision({ io: terminal, emend, flags: {} }, run, decision, signal)).toBe('left');
  const script = fakeIo({ env, cwd: repo });
  expect(await main(['show', run.stepKey, '--json'], script)).toBe(0);
  const { status } = JSON.parse(script.printed.out) as { status: { decision: DecisionPoint } };
  const { id, reason, accepts, message } = decision;
  expect(status.decision).toMatchObject({ id, reason, accepts, message });
  // The menu, and once more with the consequence of each; hunks are how a person selects.
  const answers = accepts.filter((answer) => answer !== 'select');
  expect(
    [...terminal.printed.out.matchAll(/^ {2}\[.\] (\w+):/gm)]
      .map(([, word]) => word)
      .filter((word) => answers.some((answer) => answer === word)),
  ).toEqual([...answers, ...answers]);
};

/** What a person types; null where the terminal has no way to say it. */
const typedFor = (
  question: Question,
  { answer, files = [], note, set }: Given,
): string[] | null => {
  const key = menuEntries(question).find(({ name }) => name === answer)?.key;
  if (key === undefined || answer === 'move') return null;
  const confirmation = confirmationOf(question, answer);
  // One file is answered by its key alone.
  if (files.length > 0 && confirmation === null && question.decision.files.length > 1) return null;
  const confirmed = files.length === 0 ? 'y' : files.join(' ');
  const first = confirmation === null ? [key] : [key, confirmed];
  const [setting, ...others] = Object.entries(set ?? {});
  if (answer === 'revise') return note === undefined ? null : [...first, note];
  if (answer === 'other')
    return set?.command === undefined ? null : [...first, String(set.command)];
  if (answer !== 'retry') return note === undefined && setting === undefined ? first : null;
  if (others.length > 0 || (setting !== undefined && note !== undefined)) return null;
  return [...first, note ?? (setting === undefined ? '' : `${setting[0]}=${String(setting[1])}`)];
};

const byCommand = async (
  { env, repo }: At,
  run: ResolvedRun,
  { id }: DecisionPoint,
  { answer, files = [], note, set = {} }: Given,
): Promise<DecideResult> => {
  const io = fakeIo({ env, cwd: repo });
  const exit = await main(
    [
      ...['decide', run.stepKey, answer, '--decision', id, '--json'],
      ...files.flatMap((file) => ['--file', file]),
      ...(note === undefined ? [] : ['--note', note]),
      ...Object.entries(set).flatMap(([name, value]) => ['--set', `${name}=${String(value)}`]),
    ],
    io,
  );
  if (exit !== 0) throw new Error(`exit code ${exit}: ${io.printed.err}`);
  return JSON.parse(io.printed.out) as DecideResult;
};
