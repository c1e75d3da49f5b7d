/** A run on one screen: state, ledger, waiting decision, result. Pure. */
import type { ShownRun } from '../../client/phases-waiting.js';
import { formatText, sizeText } from '../../shared/ledger-words.js';
import { clockTime, type Outage } from '../../shared/outage.js';
import { PROBLEMS } from '../../shared/problems.js';
import type { LedgerRow, StepResult } from '../../shared/protocol.js';
import { decisionLines } from './decision.js';
import { planLines } from './plan-run.js';
import { count, line, plain, table } from './text.js';
import { SHOWN_BOUNDS } from '../../shared/bounds.js';
import { usageText } from '../../shared/usage.js';

/** `fold`: a terminal's columns. */
export const viewLines = (view: ShownRun, shown: string, width: number, fold = Infinity): readonly string[] => {
  const { status } = view;
  return [
    `${shown}  ${line(status.title || status.jobPath, width - shown.length - 2)}`,
    ...table([
      ['  state', `${status.state}${status.doing === '' ? '' : `: ${line(status.doing, width - 16)}`}`],
      ['  job', plain(status.jobPath)],
      ['  workspace', plain(status.workspace)],
      ['  workflow', view.workflowId ?? 'unknown'],
      ...(view.link === null ? [] : [['  Temporal UI', view.link]]),
      ['  so far', usageText(status.usage)],
    ]),
    ...(view.note === null
      ? []
      : [
          '',
          `  ${plain(view.note)}`,
          '  Shown is what this machine has in its archive; it may lag behind. `emend dev` or `emend worker` brings the run back.',
        ]),
    ...ledgerLines(view.ledger, width),
    ...(status.plan === undefined ? [] : ['', ...planLines(status.plan, width, view.phasesWaiting)]),
    ...(status.outage === undefined ? [] : ['', ...outageLines(status.outage, shown)]),
    ...(status.ignored.length === 0
      ? []
      : [
          '',
          `did not count: ${status.ignoredCount ?? status.ignored.length}, the last:`,
          ...status.ignored.slice(-5).map((text) => line(`  ${text}`, width)),
        ]),
    ...(status.decision === null
      ? []
      : ['', ...decisionLines(shown, status.decision, { width, fold, proposal: view.proposal })]),
    ...(status.result === null ? [] : ['', ...resultLines(status.result, shown)]),
  ];
};

/** Whole: what the server said is what a person goes by. */
const outageLines = ({ message, tries, next, id }: Outage, shown: string): readonly string[] => [
  plain(`the model is down: ${message}`),
  `  try ${tries + 1} at ${clockTime(next)} (${id}); nobody has to do anything`,
  '',
  `  emend retry ${shown}            try at once; nothing is approved by it`,
];

const ledgerLines = (rows: readonly LedgerRow[], width: number): readonly string[] => {
  if (rows.length === 0) return [];
  const cells = rows
    .slice(0, SHOWN_BOUNDS.ledgerRows)
    .map((row) => [
      `  ${line(row.path, 60)}`,
      row.verdict === null ? row.status : `${row.status}, ${row.verdict}`,
      formatText(row),
      sizeText(row),
      row.attempts === 0 ? '' : count(row.attempts, 'refused answer'),
      row.reason ?? '',
    ]);
  return [
    '',
    ...table([['  file', 'status', 'format', 'size', '', ''], ...cells]).map((text) => line(text, width)),
    ...(rows.length > SHOWN_BOUNDS.ledgerRows
      ? [`  and ${rows.length - SHOWN_BOUNDS.ledgerRows} more (emend show RUN --json lists all)`]
      : []),
  ];
};

const SENTENCE: Record<StepResult['outcome'], (result: StepResult) => string> = {
  committed: (result) => `committed ${count(result.files.length, 'file')} as ${(result.commit ?? '').slice(0, 12)}`,
  applied: (result) => `applied to ${count(result.files.length, 'file')}; nothing was committed`,
  unchanged: () => 'nothing to change',
  skipped: () => 'skipped: nothing was changed',
  aborted: ({ openOnHost }) =>
    openOnHost === undefined
      ? 'aborted: what was applied and not committed was rolled back'
      : 'aborted without its host',
  refused: () => 'refused before anything was written',
  failed: () => 'failed',
  tests_failed: () => 'its tests failed: what was applied was rolled back',
  completed: (result) => `completed: ${phasesText(result)}`,
  incomplete: (result) => `came to its end with phases that are not completed: ${phasesText(result)}`,
  stopped: (result) => `stopped after a phase: ${phasesText(result)}`,
};

const phasesText = ({ plan }: StepResult): string => {
  const phases = plan?.phases ?? [];
  return `${phases.filter(({ status }) => status === 'completed').length} of ${count(phases.length, 'phase')} completed`;
};

export const resultLines = (result: StepResult, shown: string): readonly string[] => [
  `${shown}  ${SENTENCE[result.outcome](result)}`,
  ...(result.problem === null
    ? []
    : [`  ${plain(result.problem.message)}`, `  ${plain(result.problem.next ?? PROBLEMS[result.problem.code].hint)}`]),
  ...(result.verification === null ? [] : [`  tests: ${plain(result.verification)}`]),
  `  ${usageText(result.usage)}`,
  ...(result.commit === null ? [] : [`  git show ${result.commit.slice(0, 12)}`]),
  ...(result.plan?.kept ?? []).map(
    ({ phase, ref }) => `  Phase ${phase} is committed and not merged: git merge ${ref}`,
  ),
];
