/** A run on one screen: state, ledger, waiting decision, result. Pure. */
import { shownKey } from '../../shared/ids.js';
import type { StaleLock } from '../../client/ended/release-lock.js';
import type { ReleasedLock } from '../../client/ended/stale-locks.js';
import type { EndedWorktree } from '../../client/ended/worktrees.js';
import { auditLines, auditVerdict, type AuditReport } from '../../shared/audit.js';
import { cell, count, plain, line, table } from './text.js';
import type { PlanProgress } from '../../shared/plan.js';
import type { SentContext } from '../../client/runs/calls.js';
import type { PhaseWaiting, ShownRun, TestRun } from '../../client/runs/show.js';
import type { RecoveredTransaction } from '../../workspace/ports.js';
import {
  attemptsText,
  formatText,
  sizeText,
  soFarText,
  testsText,
} from '../../shared/event-text.js';
import { clockTime, type Outage } from '../../shared/outage.js';
import { PROBLEMS } from '../../shared/problems.js';
import { showCommit } from '../../shared/repository.js';
import {
  otherNotes,
  restoreNotes,
  type LedgerRow,
  type StepResult,
  type StepStatus,
} from '../../shared/run.js';
import { decisionLines } from './decision.js';
import { shellWord } from '../../shared/text.js';
import { usageText } from '../../shared/usage.js';

const LOCK_FILES = 20; // bound: Files of a workspace that an ended run holds.
const PHASE_ROWS = 60; // bound: Phases in `emend show`.
const LEDGER_ROWS = 25; // bound: Files in `emend show`.

// A plan's run: its phases in a table. Pure.

export const resumeText = ({ jobPath }: StepStatus): string =>
  `emend plan resume ${shellWord(jobPath)}`;

const planLines = (
  { phases, pausedBy, stopAfterPhase, reports }: PlanProgress,
  status: StepStatus,
  width: number,
  waiting: readonly PhaseWaiting[] = [],
): readonly string[] => {
  const rows = phases
    .slice(0, PHASE_ROWS)
    .map((phase) => [
      `  ${phase.number}`,
      cell(phase.name, 40, width),
      ...standing(phase, waiting.find(({ run }) => run === phase.run)?.reason),
      count(phase.tasks, 'task'),
      `score ${phase.score}`,
      phase.commit === null ? '' : phase.commit.slice(0, 12),
      phase.verification === 'no_tests' ? 'no tests' : '',
      plain(phase.why ?? ''),
    ]);
  const isOver = status.result !== null;
  const pause = status.stage === 'choosing' ? 'paused' : 'pause before the next phase wanted';
  return [
    ...table(rows).map((text) => line(text, width)),
    ...(phases.length > PHASE_ROWS ? [`  and ${phases.length - PHASE_ROWS} more`] : []),
    ...(pausedBy === null || isOver
      ? []
      : [`  ${pause} by ${plain(pausedBy)}: ${resumeText(status)}`]),
    ...reports.map(({ text, by }) =>
      line(`  reported by ${plain(by)}, not handled yet: ${plain(text)}`, width),
    ),
    ...(stopAfterPhase === null || isOver
      ? []
      : [`  will stop after this phase (${plain(stopAfterPhase)})`]),
  ];
};

/** How it stands, and what one types next: before what a narrow terminal may cut off. */
const standing = (
  { status, run }: PlanProgress['phases'][number],
  reason: PhaseWaiting['reason'] | undefined,
): readonly [string, string] => {
  if (run === null) return [status, ''];
  return reason === undefined
    ? [status, `emend show ${shownKey(run)}`]
    : [`waits: ${reason}`, `emend review ${shownKey(run)}`];
};

export const viewLines = (view: ShownRun, shown: string, width: number): readonly string[] => {
  const { status } = view;
  const doing = status.doing === status.state ? '' : line(status.doing, width - 16);
  return [
    `${shown}  ${line(status.title || status.jobPath, width - shown.length - 2)}`,
    ...table([
      ['  state', `${status.state}${doing === '' ? '' : `: ${doing}`}`],
      ['  job', plain(status.jobPath)],
      [
        '  workspace',
        plain(`${status.workspace}${view.host?.name == null ? '' : ` on ${view.host.name}`}`),
      ],
      ['  workflow', view.workflowId ?? 'unknown'],
      ...(view.link === null ? [] : [['  Temporal UI', view.link]]),
      ...(status.left ?? status.result?.left ?? []).map(({ host, workspace, files }) => [
        '  moved from',
        line(
          `${workspace} on host ${shownKey(host)}; applied: ${files.join(', ') || 'nothing'}`,
          width,
        ),
      ]),
      ...(view.follows
        ? [['  follows', plain(`${shownKey(view.follows.run)}: ${view.follows.pullRequest}`)]]
        : []),
      ['  so far', soFarText(status)],
    ]),
    ...(view.note === null ? [] : ['', `  ${plain(view.note)}`]),
    ...(view.note === null || view.source === 'run'
      ? []
      : ['  Shown from the archive of this machine; it may be out of date.']),
    ...ledgerLines(view.ledger, width),
    ...(status.plan === undefined
      ? []
      : ['', ...planLines(status.plan, status, width, view.phasesWaiting)]),
    ...(status.outage === undefined ? [] : ['', ...outageLines(status.outage, shown)]),
    ...(status.ignored.length === 0
      ? []
      : ['', `ignored: ${status.ignoredCount ?? status.ignored.length}, the last:`]),
    ...status.ignored.slice(-5).map((text) => line(`  ${text}`, width)),
    ...(status.decision === null
      ? []
      : ['', ...decisionLines(shown, status.decision, { width, proposal: view.proposal })]),
    ...(status.result === null ? [] : ['', ...resultLines(status.result, shown, status.workspace)]),
  ];
};

/** Whole: what the server said is what a person goes by. */
const outageLines = ({ message, tries, next, id }: Outage, shown: string): readonly string[] => [
  plain(`the model is down: ${message}`),
  `  try ${tries + 1} at ${clockTime(next)} (${id}); no action needed`,
  '',
  `  emend retry ${shown}            retry now; this approves nothing`,
];

const ledgerLines = (rows: readonly LedgerRow[], width: number): readonly string[] => {
  if (rows.length === 0) return [];
  const cells = rows
    .slice(0, LEDGER_ROWS)
    .map((row) => [
      `  ${cell(row.path, 60, width)}`,
      row.verdict === null ? row.status : `${row.status}, ${row.verdict}`,
      formatText(row),
      sizeText(row),
      attemptsText(row),
      row.reason ?? row.why ?? '',
    ]);
  return [
    '',
    ...table([['  file', 'status', 'format', 'size', 'attempts', ''], ...cells]).map((text) =>
      line(text, width),
    ),
    ...(rows.length > LEDGER_ROWS
      ? [`  and ${rows.length - LEDGER_ROWS} more (emend show RUN --json lists all)`]
      : []),
  ];
};

const SENTENCE: Record<StepResult['outcome'], (result: StepResult) => string> = {
  committed: (result) =>
    `committed ${count(result.files.length, 'file')} as ${(result.commit ?? '').slice(0, 12)}`,
  applied: (result) => `applied to ${count(result.files.length, 'file')}; nothing was committed`,
  unchanged: () => 'nothing to change',
  skipped: () => 'skipped: nothing was changed',
  aborted: ({ openOnHost }) =>
    openOnHost === undefined
      ? 'aborted: uncommitted changes were rolled back'
      : 'aborted while its host was unreachable',
  refused: () => 'refused; nothing was written',
  failed: () => 'failed',
  tests_failed: () => 'tests failed: nothing of the change was kept',
  completed: (result) => `completed: ${phasesText(result)}`,
  incomplete: (result) => `ended with incomplete phases: ${phasesText(result)}`,
  stopped: (result) => `stopped after a phase: ${phasesText(result)}`,
};

const phasesText = ({ plan }: StepResult): string => {
  const phases = plan?.phases ?? [];
  return `${phases.filter(({ status }) => status === 'completed').length} of ${count(phases.length, 'phase')} completed`;
};

/** A run of this outcome has a commit only if it made it before its records on the server were put back. */
const LEAVES_NO_COMMIT: ReadonlySet<StepResult['outcome']> = new Set([
  'applied',
  'unchanged',
  'skipped',
  'aborted',
  'refused',
  'failed',
  'tests_failed',
]);

const auditRows = (audit: AuditReport): readonly string[] => [
  `  audit: ${plain(auditVerdict(audit))}`,
  ...auditLines(audit).map((finding) => `    ${plain(finding)}`),
];

/** The most important first: outcome, commit, tests, cost. */
export const resultLines = (
  result: StepResult,
  shown: string,
  workspace: string,
): readonly string[] => [
  `${shown}  ${result.notRestored === undefined && (result.commit === null || !LEAVES_NO_COMMIT.has(result.outcome)) ? SENTENCE[result.outcome](result) : result.outcome.replace('_', ' ')}`,
  ...restoreNotes(result).map((text) => `  ${plain(text)}`),
  ...(result.problem === null
    ? []
    : [
        `  ${plain(result.problem.message)}`,
        `  ${plain(result.problem.next ?? PROBLEMS[result.problem.code].hint)}`,
      ]),
  ...(result.commit === null ? [] : [`  ${showCommit(result.commit, workspace)}`]),
  ...(result.verification === null ? [] : [`  tests: ${plain(result.verification)}`]),
  ...(result.failure === undefined ? [] : [`  emend show ${shown} --tests`]),
  ...(result.audit === undefined ? [] : auditRows(result.audit)),
  `  ${usageText(result.usage)}`,
  ...otherNotes(result).map((text) => `  ${plain(text)}`),
  ...(result.commit === null || !LEAVES_NO_COMMIT.has(result.outcome)
    ? []
    : [
        '  The records of the server are from before this commit. It stays in the branch.',
        `  To take it back: git revert ${result.commit.slice(0, 12)}`,
      ]),
  ...(result.plan?.kept ?? []).map(
    ({ phase, ref }) => `  Phase ${phase} is committed and not merged: git merge ${ref}`,
  ),
];

/** Test runs, oldest first: what came of each, which tests failed, what was printed. */
export const testLines = (runs: readonly TestRun[], shown: string): readonly string[] =>
  runs.length === 0
    ? [`${shown}  no test run has finished`]
    : runs.flatMap((run, index) => [
        ...(index === 0 ? [] : ['']),
        plain(`${run.at}  ${testsText(run)}`),
        plain(run.text ?? '  its output is not available'),
        ...(run.leftOut === 0
          ? []
          : [
              `  ${count(run.leftOut, 'line')} of the output omitted: emend show ${shown} --tests --whole`,
            ]),
      ]);

/** What each call showed beside the files to edit, a line a file. */
export const contextLines = (calls: readonly SentContext[], shown: string): readonly string[] => {
  const rows = calls.flatMap(({ n, files, omitted }) => [
    ...(files ?? []).map(({ path, why, tokens }) => [`${n}`, plain(path), plain(why), `${tokens}`]),
    ...(files === null ? [[`${n}`, '', 'its record is missing']] : []),
    ...(omitted.length === 0 ? [] : [[`${n}`, '', `${count(omitted.length, 'file')} did not fit`]]),
  ]);
  if (rows.length === 0) return [`${shown}  no call showed anything beside the files to edit`];
  return table([['call', 'file', 'why', 'tokens'], ...rows]);
};

// Workspaces that ended runs held or still hold. Pure.

const BECAUSE: Record<ReleasedLock['because'], string> = {
  nothing_applied: 'nothing of it was applied',
  committed: 'its commit exists',
  finished: 'it ended normally',
  put_back: 'it was aborted or moved while this host was unreachable',
};

export const releasedLines = ({
  stepKey,
  workspace,
  ended,
  because,
  undone,
}: ReleasedLock): readonly string[] => [
  `${shownKey(stepKey)}  has ended (${ended}) and had locked ${plain(workspace)}, which is now unlocked: ${BECAUSE[because]}.`,
  ...(undone === undefined ? [] : [`  ${count(undone.files.length, 'file')} restored`]),
  ...(undone?.leftAlone ?? []).map(({ path, why }) => `  skipped: ${plain(path)}: ${plain(why)}`),
];

export const staleLockLines = ({
  stepKey,
  workspace,
  ended,
  elsewhere,
  files,
}: StaleLock): readonly string[] => {
  const run = shownKey(stepKey);
  const more = files.length > LOCK_FILES ? ` and ${files.length - LOCK_FILES} more` : '';
  const locks = `${run}  has ended (${ended}) and still locks ${plain(workspace)}.`;
  if (elsewhere)
    return [
      locks,
      '  It used another EMEND_HOME: run `emend recover` with that one, which has its records.',
      `  emend recover --keep ${run}   unlocks the workspace if that home is lost`,
    ];
  return [
    locks,
    `  applied: ${files.length === 0 ? 'nothing' : `${count(files.length, 'file')}: ${plain(files.slice(0, LOCK_FILES).join(', '))}${more}`}`,
    `  emend recover --undo ${run}   restores its files`,
    `  emend recover --keep ${run}   keeps them`,
  ];
};

export const worktreeLine = ({ plan, name, path, dropped, kept, why }: EndedWorktree): string => {
  if (name === '')
    return `${shownKey(plan)}  its worktrees could not be checked: ${plain(why ?? '')}`;
  const its = `${shownKey(`${plan}-${name}`)}  its plan has ended; its worktree`;
  if (why !== null) return `${its} ${plain(path)} still exists: ${plain(why)}`;
  return `${its} is removed${dropped === null ? '' : `, its last commit was ${dropped.slice(0, 12)}${kept === null ? '' : `, kept as ${kept}`}`}.`;
};

// What recovery did to transactions that were left open. Pure.

const DID: Record<RecoveredTransaction['did'], string> = {
  finished: 'finished: the change is complete',
  reverted: 'reverted: the files are restored',
  left_to_live_process: 'skipped: a running process is working on it',
  workspace_missing: 'skipped: workspace not found',
  failed: 'could not be recovered',
};

export const transactionLines = (
  transactions: readonly RecoveredTransaction[],
): readonly string[] =>
  transactions.flatMap(({ stepKey, workspace, did, pids = [], conflicts }) => [
    `${shownKey(stepKey)}  ${workspace === '' ? '' : `${plain(workspace)}: `}${DID[did]}${pids.length === 0 ? '' : ` (pid ${pids.join(', ')})`}`,
    ...conflicts.map(({ path, why }) => `  ${plain(path)}: ${plain(why)}`),
  ]);
