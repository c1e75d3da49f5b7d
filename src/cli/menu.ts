/** What a person may type at a decision in the terminal. Pure. */
import { ANSWER_MEANS, type Answer, type DecisionPoint } from '../shared/decisions.js';
import { folded } from './render/text.js';

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
  keep: 'k',
  run: 'r',
  other: 'o',
  no_tests: 'n',
  wait: 'w',
  expand: 'e',
  continue: 'c',
  force: 'f',
  take_new: 'n',
  keep_old: 'k',
  resume: 'r',
  restart: 'b',
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
  ...decision.accepts.map((answer) => `  [${LETTER[answer]}] ${answer}: ${ANSWER_MEANS[answer]}`),
  ...(decision.proposalId === null ? [] : ['  [d] diff: show the change']),
  '  [q] quit: leave it waiting',
  ...(decision.files.length > 1 ? ['  Paths after the letter answer for these files only: s src/a.ts'] : []),
];

/** All that may be typed, in one line. */
const choices = (decision: DecisionPoint): string =>
  [
    ...decision.accepts.map((accepted) => `${LETTER[accepted]} (${accepted})`),
    ...(decision.proposalId === null ? [] : ['d (diff)']),
    'q (quit)',
    '? (what they mean)',
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
      message: `"${word}" is none of: ${choices(decision)}.`,
    };
  const known = decision.files.map((file) => file.path);
  const strange = files.find((file) => !known.includes(file));
  if (strange !== undefined) return { kind: 'unclear', message: `${strange} is not one of: ${known.join(', ')}.` };
  return { kind: 'answer', answer, files };
};
