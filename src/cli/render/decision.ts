/** A decision point as a person reads it: what is asked, about which files, and the exact commands to type. Pure. */
import { ANSWER_MEANS, WHOLE_ANSWERS, type Answer, type DecisionPoint } from '../../shared/decisions.js';
import type { Finding } from '../../shared/formats.js';
import { linesChanged, type ProposalSummary } from '../../shared/proposal-activities.js';
import { partText } from '../../shared/event-text.js';
import { count, folded, line, plain, table } from './text.js';

const DECISION_FILES = 15; // bound: Files listed with a decision.

const SHORT_FORMS: readonly Answer[] = ['approve', 'skip', 'retry', 'revise', 'abort'];
/** What an answer needs beside its name. */
const NEEDS: Partial<Record<Answer, string>> = {
  revise: ' --note "…"',
  select: ' --hunk PATH:1,3',
  other: ' --set command="…"',
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

/** `ask: doubled_block in src/a.ts, lines 3 to 8: ...`: how much it matters, where, what. */
export const findingText = ({ severity, guard, path, lines, message }: Finding): string => {
  const where =
    lines === undefined ? '' : lines[0] === lines[1] ? `, line ${lines[0]}` : `, lines ${lines.join(' to ')}`;
  return `${severity}: ${guard} in ${plain(path)}${where}: ${plain(message)}`;
};

const proposalLines = (proposal: ProposalSummary, width: number): readonly string[] => {
  const { added, removed } = linesChanged(proposal);
  const rows = proposal.files
    .slice(0, DECISION_FILES)
    .map((file) => [
      `  ${plain(file.path)}`,
      `+${file.added} -${file.removed}`,
      file.change === 'edit' ? '' : file.change,
    ]);
  return [
    `proposal ${proposal.id.slice(0, 8)}: ${count(proposal.files.length, 'file')}, +${added} -${removed}`,
    ...table(rows),
    ...more(proposal.files.length),
    ...proposal.mustAsk.map((why) => line(`  look here: ${why}`, width)),
    ...proposal.findings.map((finding) => line(`  ${findingText(finding)}`, width)),
    ...proposal.tolerances.map((tolerance) => line(`  tolerance used: ${tolerance}`, width)),
  ];
};

interface DecisionView {
  readonly width?: number;
  readonly proposal?: ProposalSummary | null;
  /** A terminal's columns: commands with what they mean that are wider stand in two lines. */
  readonly fold?: number;
}
export const decisionLines = (run: string, decision: DecisionPoint, view: DecisionView = {}): readonly string[] => [
  ...decisionHead(decision, view),
  '',
  ...commandLines(run, decision, view.fold),
];

/** What is asked, without the commands. */
export const decisionHead = (
  decision: DecisionPoint,
  { width = 100, proposal = null }: DecisionView = {},
): readonly string[] => {
  const open = decision.files.filter((file) => decision.answered[file.path] === undefined);
  const answered = decision.files.length - open.length;
  return [
    `waits for you: ${decision.reason}   (decision ${decision.id})`,
    ...(decision.mustSign === true ? ['  an answer counts only where one of the approvers signs it'] : []),
    ...(decision.message === '' ? [] : [`  ${plain(decision.message)}`]),
    ...(decision.parts ?? []).map((part) => `  ${partText(part)}`),
    ...(proposal === null || decision.reason !== 'approval' ? fileLines(open, decision, width) : []),
    ...(proposal === null ? [] : proposalLines(proposal, width).map((text) => `  ${text}`)),
    ...(answered === 0 ? [] : [`  ${count(answered, 'file')} already answered, ${open.length} to go`]),
    ...(decision.subject === null ? [] : [`  about: ${plain(decision.subject)}`]),
  ];
};

/** One line a file; what all files share was said by the decision's own message. */
const fileLines = (files: DecisionPoint['files'], { message }: DecisionPoint, width: number): readonly string[] => [
  ...files
    .slice(0, DECISION_FILES)
    .map((file) =>
      line(`  ${file.path}${file.message === message || file.message === '' ? '' : `: ${file.message}`}`, width),
    ),
  ...more(files.length),
];

export const commandLines = (run: string, decision: DecisionPoint, fold = Infinity): readonly string[] => {
  const parts = (decision.parts ?? []).map(({ name, accepts }) => ` --set ${name}=${accepts[0] ?? ''}`).join('');
  const rows = decision.accepts.map((answer) => [
    `  ${commandFor(run, decision, answer, answer === 'start' ? parts : undefined)}`,
    ANSWER_MEANS[answer],
  ]);
  const inColumns = table(rows);
  const perFile = decision.accepts.some((answer) => !WHOLE_ANSWERS.includes(answer)) && decision.files.length > 1;
  return [
    ...(decision.proposalId === null ? [] : [`  emend diff ${run}`]),
    ...(inColumns.some((text) => text.length > fold)
      ? rows.flatMap(([command = '', means = '']) => [command, ...folded(`      ${means}`, fold, 6)])
      : inColumns),
    ...(perFile ? ['  --file PATH (again and again) answers for these files only'] : []),
  ];
};

const more = (files: number): readonly string[] =>
  files > DECISION_FILES ? [`  and ${files - DECISION_FILES} more`] : [];
