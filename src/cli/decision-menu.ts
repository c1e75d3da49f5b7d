/** The keys of a decision in the terminal, and which of them ask again before they count. Pure. */
import {
  isOfTheRest,
  meaningOf,
  WHOLE_ANSWERS,
  type Answer,
  type DecisionPoint,
} from '../shared/decisions.js';
import type { ProposalSummary } from '../shared/proposal-activities.js';
import { count } from '../shared/text.js';
import { consequenceOf } from './answer-consequences.js';
import { folded } from './render/text.js';

const PATHS_LISTED = 15; // bound: Maximum number of known paths that a message lists for an unknown one.
const TEXT_COLUMN = 6; // Indent of the lines below the first one of a text.

/** Unique among the answers of each reason; a test holds it to that. */
const KEYS: Record<Answer, string> = {
  approve: 'a',
  skip: 's',
  revise: 'r',
  select: 'h',
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
  trust: 't',
  start: 's',
  fix: 'f',
  known: 'k',
  outside: 'w',
  change_model: 'm',
  abort: 'x',
};

/** Answers that apply a change, drop it or end the run. If the number of files is not known, they ask again. */
const APPLIES_OR_ENDS: ReadonlySet<Answer> = new Set([
  'approve',
  'keep',
  'manual',
  'skip',
  'take_theirs',
]);

export type MenuAction =
  | { readonly kind: 'answer'; readonly answer: Answer }
  | { readonly kind: 'hunks' | 'diff' | 'explain' | 'quit' };

export interface MenuEntry {
  readonly key: string;
  readonly name: string;
  /** The entry in a few words. */
  readonly text: string;
  /** The consequence, for `?`. */
  readonly consequence: string;
  readonly action: MenuAction;
}

/** A decision with the proposal that it is about; null: it has none, or the run has a newer one. */
export interface Question {
  readonly decision: DecisionPoint;
  readonly proposal: ProposalSummary | null;
}

/** Returns all keys that work at a decision. No other key does anything. */
export const menuEntries = ({ decision, proposal }: Question): readonly MenuEntry[] => {
  const answers = decision.accepts
    // The review of the hunks sends `select`.
    .filter((answer) => answer !== 'select')
    .map((answer) => answerEntry(decision, answer));
  const abort = answers.filter(({ name }) => name === 'abort');
  const others = answers.filter(({ name }) => name !== 'abort');
  const hunks = decision.reason === 'approval' ? [HUNKS] : [];
  return [
    ...others,
    ...(proposal === null ? [] : hunks),
    ...abort,
    ...(proposal === null ? [] : [DIFF]),
    EXPLAIN,
    QUIT,
  ];
};

const answerEntry = (decision: DecisionPoint, answer: Answer): MenuEntry => ({
  key: KEYS[answer],
  name: answer,
  text: meaningOf(decision, answer),
  consequence: consequenceOf(decision, answer),
  action: { kind: 'answer', answer },
});

const HUNKS: MenuEntry = {
  key: KEYS.select,
  name: 'hunks',
  text: 'review hunk by hunk: accept, reject or comment each',
  consequence:
    'Each hunk is shown with a question. Nothing is sent before you confirm the summary at the end. A file of which you accept a part becomes a new proposal, which is shown again.',
  action: { kind: 'hunks' },
};
const DIFF: MenuEntry = {
  key: 'd',
  name: 'diff',
  text: 'show the change again',
  consequence: 'Nothing is sent.',
  action: { kind: 'diff' },
};
const EXPLAIN: MenuEntry = {
  key: '?',
  name: 'explain',
  text: 'explain what each key leads to',
  consequence: 'Nothing is sent.',
  action: { kind: 'explain' },
};
const QUIT: MenuEntry = {
  key: 'q',
  name: 'quit',
  text: 'leave the decision open',
  consequence:
    'Nothing is sent. The run waits for an answer without a time limit and costs nothing.',
  action: { kind: 'quit' },
};

/** Returns the lines of the menu. Lines longer than `width` continue below their text. */
export const menuLines = (question: Question, width = Infinity): readonly string[] => {
  const several = question.decision.files.length > 1 || (question.proposal?.files.length ?? 0) > 1;
  const hint = several
    ? '  One key, without Enter. A key for several files asks again, and there you may type paths.'
    : '  One key, without Enter.';
  return [
    ...menuEntries(question).map(({ key, name, text }) => `  [${key}] ${name}: ${text}`),
    hint,
  ].flatMap((text) => folded(text, width, TEXT_COLUMN));
};

/** Returns each key with its consequence. */
export const explanationLines = (question: Question, width = Infinity): readonly string[] =>
  menuEntries(question)
    .map(({ key, name, consequence }) => `  [${key}] ${name}: ${consequence}`)
    .flatMap((text) => folded(text, width, TEXT_COLUMN));

/** Returns what a key does. Null: it is not a key of the menu, such as a capital letter, Enter, an arrow or pasted text. */
export const actionOf = (typed: string, question: Question): MenuAction | null =>
  menuEntries(question).find(({ key }) => key === typed)?.action ?? null;

/** Names what was typed instead of a key of the menu. */
export const unknownKeyText = (typed: string, question: Question): string => {
  const keys = menuEntries(question).map(({ key, name }) => `${key} (${name})`);
  return `${keyName(typed)} is not a key here. Type one of: ${keys.join(', ')}.`;
};

const keyName = (typed: string): string => {
  if (typed === '\r' || typed === '\n') return 'Enter';
  if (typed === ' ') return 'The space bar';
  if (typed.startsWith('\u001b')) return 'That';
  return typed.length === 1 ? `"${typed}"` : 'More than one character at once';
};

/** A second question, before an answer for more than one file counts. */
export interface Confirmation {
  readonly text: string;
  /** Files that may be named instead of all; null: the answer is for all of them together. */
  readonly paths: readonly string[] | null;
}

/** Returns the second question of an answer. Null: the key alone is enough. */
export const confirmationOf = (question: Question, answer: Answer): Confirmation | null => {
  const { decision, proposal } = question;
  const means = meaningOf(decision, answer);
  if (answer === 'abort') return { text: `Abort: ${means}? [y/N] `, paths: null };
  const open = decision.files
    .map(({ path }) => path)
    .filter((path) => !Object.hasOwn(decision.answered, path));
  if (isOfTheRest(decision, answer)) {
    const done =
      proposal === null ? 'the files that are done' : count(proposal.files.length, 'file');
    return {
      text: `Approve ${done} and leave out ${count(open.length, 'file')}? [y/N] `,
      paths: null,
    };
  }
  if (!WHOLE_ANSWERS.includes(answer) && decision.files.length > 0) {
    if (open.length < 2) return null;
    const some = open.length < decision.files.length;
    const files = some ? `the ${open.length} files without an answer` : `all ${open.length} files`;
    return { text: `${verb(answer)} ${files}? [y/N, or paths] `, paths: open };
  }
  return wholeConfirmation(question, answer, open.length);
};

const wholeConfirmation = (
  { decision, proposal }: Question,
  answer: Answer,
  open: number,
): Confirmation | null => {
  const applies = APPLIES_OR_ENDS.has(answer);
  const files = Math.max(open, applies ? (proposal?.files.length ?? 0) : 0);
  if (files === 1 || (files === 0 && !applies)) return null;
  const about = files === 0 ? '' : ` (${files} files)`;
  return {
    text: `${capital(answer)}${about}: ${meaningOf(decision, answer)}? [y/N] `,
    paths: null,
  };
};

const capital = (answer: Answer): string => {
  const words = answer.replaceAll('_', ' ');
  return `${words.slice(0, 1).toUpperCase()}${words.slice(1)}`;
};

/** Returns the words before the files: `Skip`, or `Take theirs for` if the answer is no verb with an object. */
const verb = (answer: Answer): string =>
  answer === 'take_theirs' || answer === 'manual' ? `${capital(answer)} for` : capital(answer);

export type Confirmed =
  /** `files`: empty for all that have no answer yet. */
  | { readonly kind: 'yes'; readonly files: readonly string[] }
  | { readonly kind: 'no' }
  | { readonly kind: 'unclear'; readonly message: string };

/** Reads `y`, paths, or anything else as no. A path with blanks is typed in quotes or alone, and `./y` names a file `y`. */
export const readConfirmation = (typed: string, { paths }: Confirmation): Confirmed => {
  const line = typed.trim();
  if (/^y(es)?$/i.test(line)) return { kind: 'yes', files: [] };
  if (line === '' || /^no?$/i.test(line) || paths === null) return { kind: 'no' };
  const words = paths.includes(line) ? [line] : (line.match(/"[^"]*"|'[^']*'|\S+/g) ?? []);
  const files = words.map((word) => word.replace(/^(["'])(.*)\1$/, '$2').replace(/^\.\//, ''));
  const unknown = files.find((file) => !paths.includes(file));
  if (unknown === undefined) return { kind: 'yes', files: [...new Set(files)] };
  const rest = paths.length - PATHS_LISTED;
  const known = paths.slice(0, PATHS_LISTED).join(', ');
  const more = rest > 0 ? ` and ${rest} more` : '';
  return { kind: 'unclear', message: `${unknown} is not one of: ${known}${more}.` };
};
