/** A decision point as a person reads it: what is asked, about which files, and the exact commands to type. Pure. */
import {
  meaningOf,
  WHOLE_ANSWERS,
  type Answer,
  type DecisionPoint,
  type PauseReason,
} from '../../shared/decisions.js';
import type { ProposalSummary } from '../../shared/proposal-activities.js';
import { CHANGE_WORDS, decisionWords } from '../../shared/event-text.js';
import { folded, line, plain, table } from './text.js';

const DECISION_FILES = 15; // bound: Files listed with a decision.

/** Their message names what failed; the output says why. */
const ABOUT_TESTS: readonly PauseReason[] = [
  'tests_failed',
  'baseline',
  'sandbox_blocks_tests',
  'tests_changed_files',
];
const SHORT_FORMS: readonly Answer[] = ['approve', 'skip', 'retry', 'revise', 'move', 'abort'];
/** What an answer needs beside its name. */
const NEEDS: Partial<Record<Answer, string>> = {
  revise: ' --note "…"',
  select: ' --hunk PATH:1,3',
  other: ' --set command="…"',
  change_model: ' --set model=NAME',
  move: ' --to DIR',
};

/** What to type for an answer. The decision is named: an answer to a proposal that was not looked at must not count. */
export const commandFor = (
  run: string,
  decision: Pick<DecisionPoint, 'id'>,
  answer: Answer,
  given: string = NEEDS[answer] ?? '',
): string => {
  const verb = SHORT_FORMS.includes(answer) ? `${answer} ${run}` : `decide ${run} ${answer}`;
  return `emend ${verb} --decision ${decision.id}${given}`;
};

const fileRows = ({ files }: ProposalSummary): readonly string[] => [
  ...table(
    files
      .filter(({ to }) => to === undefined)
      .slice(0, DECISION_FILES)
      .map(({ path, from, added, removed, change }) => [
        `    ${plain(from === undefined ? path : `${from} -> ${path}`)}`,
        `+${added} -${removed}`,
        CHANGE_WORDS[change],
      ]),
  ),
  ...more(files.length).map((text) => `  ${text}`),
];

interface DecisionView {
  /** A terminal's columns: longer lines are cut, and commands with what they mean that are wider stand in two lines. */
  readonly width?: number;
  readonly proposal?: ProposalSummary | null;
}
/** What is asked, without the commands. */
export const decisionHead = (
  decision: DecisionPoint,
  { width = Infinity, proposal = null }: DecisionView = {},
): readonly string[] => {
  const words = decisionWords(decision, proposal);
  return [
    `${words.title}   (decision ${decision.id})`,
    ...words.said.map((text) => `  ${plain(text)}`),
    ...words.files
      .slice(0, DECISION_FILES)
      .map(({ path, said }) => line(`  ${path}${said === '' ? '' : `: ${said}`}`, width)),
    ...more(words.files.length),
    ...(words.proposal === null ? [] : [`  ${words.proposal.title}`]),
    ...(proposal === null ? [] : fileRows(proposal)),
    ...(words.proposal?.said ?? []).map((text) => line(`    ${text}`, width)),
    ...words.last.map((text) => `  ${plain(text)}`),
  ];
};

export const decisionLines = (
  run: string,
  decision: DecisionPoint,
  view: DecisionView = {},
): readonly string[] => {
  const { width = Infinity } = view;
  const parts = (decision.parts ?? [])
    .map(({ name, accepts }) => ` --set ${name}=${accepts[0] ?? ''}`)
    .join('');
  const rows = decision.accepts.map((answer) => [
    `  ${commandFor(run, decision, answer, answer === 'start' ? parts : undefined)}`,
    meaningOf(decision, answer),
  ]);
  const inColumns = table(rows);
  const perFile =
    decision.accepts.some((answer) => !WHOLE_ANSWERS.includes(answer)) && decision.files.length > 1;
  return [
    ...decisionHead(decision, view),
    '',
    ...(decision.proposalId === null ? [] : [`  emend diff ${run}`]),
    ...(decision.reason === 'approval'
      ? [`  emend review ${run}   hunk by hunk, in a terminal`]
      : []),
    ...(ABOUT_TESTS.includes(decision.reason) ? [`  emend show ${run} --tests`] : []),
    ...(inColumns.some((text) => text.length > width)
      ? rows.flatMap(([command = '', means = '']) => [
          command,
          ...folded(`      ${means}`, width, 6),
        ])
      : inColumns),
    ...(perFile ? ['  --file PATH (repeatable) answers for these files only'] : []),
  ];
};

const more = (files: number): readonly string[] =>
  files > DECISION_FILES ? [`  and ${files - DECISION_FILES} more`] : [];
