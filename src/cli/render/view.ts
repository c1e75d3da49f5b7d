/** A run on one screen: state, ledger, waiting decision, result. Pure. */
import type { RunView } from '../../client/show-run.js';
import { PROBLEMS } from '../../shared/problems.js';
import type { LedgerRow, StepResult, StepUsage } from '../../shared/protocol.js';
import { decisionLines } from './decision.js';
import { count, line, plain, table } from './text.js';

const MAX_ROWS = 25;

export const viewLines = (view: RunView, shown: string, width: number): readonly string[] => {
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
    ...(status.ignored.length === 0
      ? []
      : ['', 'did not count:', ...status.ignored.slice(-5).map((text) => line(`  ${text}`, width))]),
    ...(status.decision === null
      ? []
      : ['', ...decisionLines(shown, status.decision, { width, proposal: view.proposal })]),
    ...(status.result === null ? [] : ['', ...resultLines(status.result, shown)]),
  ];
};

const ledgerLines = (rows: readonly LedgerRow[], width: number): readonly string[] => {
  if (rows.length === 0) return [];
  const cells = rows
    .slice(0, MAX_ROWS)
    .map((row) => [
      `  ${line(row.path, 60)}`,
      row.verdict === null ? row.status : `${row.status}, ${row.verdict}`,
      row.format,
      row.isNew ? 'new' : count(row.lines, 'line'),
      row.attempts === 0 ? '' : count(row.attempts, 'refused answer'),
      row.reason ?? '',
    ]);
  return [
    '',
    ...table([['  file', 'status', 'format', 'size', '', ''], ...cells]).map((text) => line(text, width)),
    ...(rows.length > MAX_ROWS ? [`  and ${rows.length - MAX_ROWS} more (emend show RUN --json lists all)`] : []),
  ];
};

const usageText = (usage: StepUsage): string => {
  const tokens = usage.input_tokens + usage.cacheRead_tokens + usage.cacheWrite_tokens;
  return [
    count(usage.calls, 'model call'),
    `${tokens.toLocaleString('en-US')} tokens in, ${usage.output_tokens.toLocaleString('en-US')} out`,
    usage.usd === null ? 'price unknown' : `$${usage.usd.toFixed(4)}`,
    ...(usage.unknownCalls === 0 ? [] : [`${count(usage.unknownCalls, 'call')} cut off (counted as far as known)`]),
  ].join(', ');
};

const SENTENCE: Record<StepResult['outcome'], (result: StepResult) => string> = {
  committed: (result) => `committed ${count(result.files.length, 'file')} as ${(result.commit ?? '').slice(0, 12)}`,
  applied: (result) => `applied to ${count(result.files.length, 'file')}; nothing was committed`,
  unchanged: () => 'nothing to change',
  skipped: () => 'skipped: nothing was changed',
  aborted: () => 'aborted: what was applied and not committed was rolled back',
  refused: () => 'refused before anything was written',
  failed: () => 'failed',
};

export const resultLines = (result: StepResult, shown: string): readonly string[] => [
  `${shown}  ${SENTENCE[result.outcome](result)}`,
  ...(result.problem === null
    ? []
    : [`  ${plain(result.problem.message)}`, `  ${plain(result.problem.next ?? PROBLEMS[result.problem.code].hint)}`]),
  ...(result.verification === null ? [] : [`  tests: ${plain(result.verification)}`]),
  `  ${usageText(result.usage)}`,
  ...(result.commit === null ? [] : [`  git show ${result.commit.slice(0, 12)}`]),
];
