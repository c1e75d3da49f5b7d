/** Reviews and answers a decision in the terminal. */
import { decide, type DecideOptions } from '../client/runs/decide.js';
import type { ResolvedRun } from '../client/runs/resolve.js';
import { diffText, showRun } from '../client/runs/show.js';
import { untilStatus } from '../client/runs/watch.js';
import { type Answer, type DecisionPoint, meaningOf } from '../shared/decisions.js';
import { ProblemError } from '../shared/problems.js';
import type { StepStatus } from '../shared/run.js';
import type { Io } from './io.js';
import { printDiff, plain, folded } from './render/text.js';
import { decisionHead } from './render/decision.js';
import { askReview } from './review/ask.js';
import { loadReview } from './review/text.js';
import { decisionSettings, type Session } from './session.js';

// What a person may type at a decision in the terminal. Pure.

/** Unique among the answers of each reason; a test holds it to that. */
const LETTER: Record<Answer, string> = {
  approve: 'a',
  skip: 's',
  revise: 'r',
  select: 'c',
  retry: 'r',
  manual: 'm',
  rebase: 'b',
  regenerate: 'g',
  take_theirs: 't',
  take: 't',
  keep: 'k',
  run: 'r',
  other: 'o',
  no_tests: 'n',
  wait: 'w',
  move: 'm',
  expand: 'e',
  continue: 'c',
  force: 'f',
  take_new: 'n',
  keep_old: 'k',
  resume: 'r',
  restart: 'b',
  adopt: 'a',
  run_once: 'o',
  run_without: 'n',
  mask: 'm',
  send: 'o',
  start: 's',
  fix: 'f',
  known: 'k',
  outside: 'w',
  abort: 'x',
};

export type Reply =
  | { readonly kind: 'answer'; readonly answer: Answer; readonly files: readonly string[] }
  | { readonly kind: 'diff' }
  | { readonly kind: 'quit' }
  /** The menu again. */
  | { readonly kind: 'help' }
  | { readonly kind: 'unclear'; readonly message: string };

/** `width`: longer lines go on below their text. */
export const menuLines = (decision: DecisionPoint, width = Infinity): readonly string[] =>
  menu(decision).flatMap((text) => folded(text, width, 6));

const menu = (decision: DecisionPoint): readonly string[] => [
  ...decision.accepts.map(
    (answer) => `  [${LETTER[answer]}] ${answer}: ${meaningOf(decision, answer)}`,
  ),
  ...(decision.proposalId === null ? [] : ['  [d] diff: show the change']),
  '  [q] quit: leave the decision open',
  ...(decision.files.length > 1
    ? ['  Type a letter and paths to answer for these files only: s src/a.ts']
    : []),
];

/** All that may be typed, in one line. */
const choices = (decision: DecisionPoint): string =>
  [
    ...decision.accepts.map((accepted) => `${LETTER[accepted]} (${accepted})`),
    ...(decision.proposalId === null ? [] : ['d (diff)']),
    'q (quit)',
    '? (explain the answers)',
  ].join(', ');

/** A letter or a whole word, then paths if any. */
export const readReply = (typed: string, decision: DecisionPoint): Reply => {
  const [word = '', ...files] = typed.trim().split(/\s+/);
  const key = word.toLowerCase().replaceAll('-', '_');
  if (key === '') return { kind: 'unclear', message: `Type one of: ${choices(decision)}.` };
  if (key === '?' || key === 'help') return { kind: 'help' };
  if (key === 'q' || key === 'quit') return { kind: 'quit' };
  if ((key === 'd' || key === 'diff') && decision.proposalId !== null) return { kind: 'diff' };
  const answer = decision.accepts.find((accepted) => accepted === key || LETTER[accepted] === key);
  if (answer === undefined)
    return {
      kind: 'unclear',
      message: `"${word}" is not one of: ${choices(decision)}.`,
    };
  const known = decision.files.map((file) => file.path);
  const strange = files.find((file) => !known.includes(file));
  if (strange !== undefined)
    return { kind: 'unclear', message: `${strange} is not one of: ${known.join(', ')}.` };
  return { kind: 'answer', answer, files };
};

/** `answered`: it counts or is on its way; `again`: some files are still open; `changed`: somebody else answered; `left`: it waits on. */
export type Asked = 'answered' | 'again' | 'changed' | 'left';

export const askDecision = async (
  session: Session,
  run: ResolvedRun,
  decision: DecisionPoint,
  signal: AbortSignal,
): Promise<Asked> => {
  const { io, emend } = session;
  const { proposal: current, status } = await showRun(emend, run);
  const { workspace } = status;
  // Read a moment later, it may be a newer one: that is another decision's.
  const proposal = current?.id === decision.proposalId ? current : null;
  // A pager may take the screen, so what is asked stands below the change.
  if (proposal !== null) await printDiff(io, await diffText(emend, proposal), workspace);
  for (const text of ['', ...decisionHead(decision, { width: io.columns, proposal }), ''])
    io.out(text);
  const menu = menuLines(decision, io.columns);
  for (const text of menu) io.out(text);
  const done = new AbortController();
  const changed = new AbortController();
  /** Or none is open any more. */
  const isOther = ({ decision: now }: StepStatus): boolean => now?.id !== decision.id;
  const watching = untilStatus(emend, run, isOther, {
    signal: AbortSignal.any([done.signal, signal]),
  }).then(
    (seen) => {
      if (seen !== 'over') changed.abort();
    },
    // A server that went away shows at the next call; the question stays open.
    () => undefined,
  );
  const until = AbortSignal.any([signal, changed.signal]);
  try {
    for (;;) {
      const key = await io.key('> ', until);
      const typed = key?.trim() === ':' ? await io.ask(': ', until) : key;
      if (typed === null) {
        if (changed.signal.aborted) io.out('\nSomeone else answered this decision.');
        return changed.signal.aborted ? 'changed' : 'left';
      }
      const reply = readReply(typed, decision);
      if (reply.kind === 'quit') return 'left';
      if (reply.kind === 'help') for (const text of menu) io.out(text);
      if (reply.kind === 'unclear') io.out(plain(reply.message));
      if (reply.kind === 'diff' && proposal !== null)
        await printDiff(io, await diffText(emend, proposal), workspace);
      if (reply.kind === 'answer' && reply.answer === 'select' && proposal !== null) {
        const loaded = await loadReview(emend, decision, proposal, new Set());
        const reviewed = await askReview(session, run, loaded, { dir: workspace, signal: until });
        if (typeof reviewed !== 'string') return 'answered';
        continue;
      }
      if (reply.kind === 'answer') {
        const asked = await answer(
          session,
          run,
          { answer: reply.answer, files: reply.files, decision },
          until,
        );
        if (asked !== null) return asked;
      }
    }
  } finally {
    done.abort();
    await watching;
  }
};

/** Null: not taken; the person is asked again. */
const answer = async (
  { io, emend }: Session,
  run: ResolvedRun,
  {
    decision,
    ...given
  }: Required<Pick<DecideOptions, 'answer' | 'files'>> & { readonly decision: DecisionPoint },
  signal: AbortSignal,
): Promise<Asked | null> => {
  try {
    const details = await detailsFor(io, given.answer, decision, signal);
    if (details === null) return null;
    const sign = decision.mustSign === true;
    const result = await decide(emend, run, { ...given, decision: decision.id, sign, ...details });
    io.out(plain(result.message));
    return result.outcome === 'recorded' ? 'again' : 'answered';
  } catch (error) {
    if (!(error instanceof ProblemError) || error.problem.code === 'no_server') throw error;
    io.out(plain(error.problem.message));
    return null;
  }
};

/** What an answer needs beside its name; null: the person thought better of it. */
const detailsFor = async (
  io: Io,
  wanted: Answer,
  { parts = [] }: DecisionPoint,
  signal: AbortSignal,
): Promise<Pick<DecideOptions, 'note' | 'set'> | null> => {
  if (wanted === 'start') {
    const set: Record<string, string> = {};
    for (const { name, accepts } of parts) {
      const more = name === 'tests' ? ', or another command' : '';
      const typed = await io.ask(
        `${name}: ${accepts.join(', ')}${more} (Enter: ${accepts[0] ?? ''}) `,
        signal,
      );
      if (typed === null) return null;
      const said = typed.trim();
      if (said !== '') set[name === 'tests' && !accepts.includes(said) ? 'command' : name] = said;
    }
    return { set };
  }
  if (wanted === 'revise' || wanted === 'other') {
    const typed = await io.ask(
      wanted === 'revise' ? 'What should change? ' : 'Which command? ',
      signal,
    );
    if (typed === null || typed.trim() === '') return null;
    return wanted === 'revise' ? { note: typed } : { set: { command: typed.trim() } };
  }
  if (wanted === 'retry') {
    const typed = await io.ask('LIMIT=VALUE, or a hint for the model (Enter: neither): ', signal);
    if (typed === null) return null;
    if (typed.trim() === '') return {};
    return /^[A-Za-z_]+=\S+$/.test(typed.trim())
      ? { set: await decisionSettings([typed.trim()]) }
      : { note: typed };
  }
  return {};
};
