/** An event in one line, with the words that the documentation uses: for the terminal, the report and the page. Pure. */
import type { EventOf, EventType, StepEvent } from './events.js';
import type { DecisionPoint, StartPart } from './decisions.js';
import type { Finding } from './formats.js';
import type { ProposalFileSummary, ProposalSummary } from './proposal-activities.js';
import { auditText } from './audit.js';
import { clockTime } from './outage.js';
import { toleranceSentences } from './tolerance-text.js';
import { count, linesChanged, tally } from './text.js';
import type { LedgerRow, StepStatus } from './run.js';
import type { PhaseEstimate, PhaseReading } from './plan.js';
import type { FoundTests } from './test-plan.js';
import { expectedText, moneyBudgetText, NO_USAGE, usageText, type MoneyBudget } from './usage.js';
import { shownKey } from './ids.js';

interface PlanEstimate {
  readonly phases: number;
  readonly estimate: PhaseEstimate;
  /** If each phase fails its tests up to its limit of replans; null: not known, or nothing is tested. */
  readonly most: PhaseEstimate | null;
  readonly over: readonly string[];
  readonly budget: MoneyBudget | null;
}
export function estimateText({ phases, estimate, most, over, budget }: PlanEstimate): string {
  const about = (expected: PhaseEstimate): string =>
    `about ${usageText({ ...NO_USAGE, ...expected })}`;
  const least = `${about(estimate)}, if no phase fails`;
  const range =
    most === null
      ? least
      : `from ${least}, to at most ${about(most)}, if each fails its tests up to its limit of replans`;
  return [`${count(phases, 'phase')}: ${range}`, moneyBudgetText(budget), ...over].join('; ');
}

const TESTED = {
  base: 'before the change',
  proposal: 'of the proposal',
  change: 'of the change',
} as const;
/** `tests of the change: fail_soft in 1.5 s: …`; `seconds` null: not known. */
export const testsText = ({ on, outcome, seconds = null, summary }: TestsSaid): string =>
  `tests ${TESTED[on]}: ${outcome}${seconds === null ? '' : ` in ${seconds.toFixed(1)} s`}: ${summary}`;
interface TestsSaid {
  readonly on: keyof typeof TESTED;
  readonly outcome: string;
  readonly seconds?: number | null;
  readonly summary: string;
}

/** `npm test (package.json)`: commands that were found, and where. */
export const foundText = ({ commands, source }: Pick<FoundTests, 'commands' | 'source'>): string =>
  `${commands.join(' && ') || '-'} (${source})`;

/** `tests (run, none): test commands were found: …`, and how to name another. */
export const partText = ({ name, message, accepts }: StartPart): string =>
  `${name} (${accepts.join(', ')}${name === 'tests' ? ', or command=…' : ''}): ${message}`;

// What a decision says. Terminal and page print these texts, each in its own layout, and leave none out. Pure.

/** `doubled_block in src/a.ts, lines 3 to 8: ...` after how much it matters. */
export const findingText = ({ severity, guard, path, lines, message }: Finding): string => {
  const where =
    lines === undefined
      ? ''
      : lines[0] === lines[1]
        ? `, line ${lines[0]}`
        : `, lines ${lines.join(' to ')}`;
  return `${severity}: ${guard} in ${path}${where}: ${message}`;
};

/** What becomes of a file that is not only edited. */
export const CHANGE_WORDS: Readonly<Record<ProposalFileSummary['change'], string>> = {
  edit: '',
  create: 'new',
  delete: 'deleted',
  move: 'moved',
};

export const decisionWords = (decision: DecisionPoint, proposal: ProposalSummary | null) => {
  const { message, parts = [], subject, files, mustSign = false } = decision;
  const open = files.filter(({ path }) => !Object.hasOwn(decision.answered, path));
  const answered = files.length - open.length;
  return {
    title: `waiting for you: ${decision.reason}`,
    said: [
      ...(mustSign ? ['an answer counts only if an approver signs it'] : []),
      ...(message === '' ? [] : [message]),
      ...parts.map(partText),
    ],
    // Without an answer; `said` '': what the decision itself says. Those of an approval are the proposal's.
    files:
      proposal !== null && decision.reason === 'approval'
        ? []
        : open.map(({ path, message: m }) => ({
            path,
            said: [m, `${path}: ${m}`].includes(message) ? '' : m,
          })),
    proposal: proposal && proposalWords(proposal),
    last: [
      ...(answered === 0
        ? []
        : [`${count(answered, 'file')} already answered, ${open.length} left`]),
      ...(subject === null ? [] : [`about: ${subject}`]),
    ],
  };
};

/** What it is, and what to look at in it. */
export const proposalWords = (proposal: ProposalSummary) => {
  const { id, files, mustAsk, findings, tolerances } = proposal;
  const { added, removed } = linesChanged(proposal);
  return {
    title: `proposal ${id.slice(0, 8)}: ${count(files.length, 'file')}, +${added} -${removed}`,
    said: [
      ...mustAsk.map((why) => `check: ${why}`),
      ...findings.map(findingText),
      ...toleranceSentences({ tolerances }),
    ],
  };
};

/** A file of a proposal beside an earlier version of it. `gone`: it was changed, and is not any more. */
export const SINCE_WORDS = {
  changed: 'changed',
  same: 'as you saw it',
  new: 'new',
  gone: 'reverted',
} as const;
/** Then that is part of what is shown. */
export const BASE_MOVED = 'the file itself changed in the meantime';
export interface FileSince {
  readonly path: string;
  readonly is: keyof typeof SINCE_WORDS;
  readonly baseMoved: boolean;
}

/** That a phase, or each stage of an expanded one, should be expanded: why, and the command that does it. */
export const expandText = (
  plan: string,
  { number, name, expanded }: PhaseReading,
  why: string,
): string =>
  `Phase ${number} (${name}) should be expanded, ${why}: emend plan expand ${expanded ? 'stage' : 'phase'} ${plan}.md ${expanded ? '--auto' : number}`;

/** Where a phase's score comes from. */
const SCORED: Readonly<Record<string, string>> = {
  threshold: 'counted',
  agent: 'judged by a model',
  reconciled: 'counted and judged by a model',
};

const takenText = ({ run, committed, failures, replans, spent }: EventOf<'resumed_from'>): string =>
  [
    run === null
      ? 'continues from the committed phases'
      : `continues from the checkpoint of ${run}`,
    ...(committed.length === 0 ? [] : [`Phase ${committed.join(', ')} committed, not marked yet`]),
    ...(failures === 0 ? [] : [count(failures, 'failure')]),
    ...(replans === 0 ? [] : [count(replans, 'replan')]),
    ...(spent === undefined ? [] : [`budgets used: ${usageText(spent)}`]),
  ].join('; ');

/** `Phase 2/4`; of headings that are not numbered through `Phase 5, 4 of 4`. */
export const phaseText = (phase: number, place: number, total: number, of = '/'): string =>
  `Phase ${phase}${place === phase ? of : `, ${place} of `}${total}`;

const all = (file: string): string => (file === '*' ? 'all files' : file);

const ofPhase = (phase: number | null): string => (phase === null ? '' : `Phase ${phase}: `);

const TEXTS: { readonly [N in EventType]: (event: EventOf<N>) => string } = {
  preflight_complete: ({ targetFileCount, estimatedComplexity, shouldSplit, reason }) =>
    `analyzed ${count(targetFileCount, 'file')}, complexity ${estimatedComplexity}${shouldSplit ? `, split: ${reason}` : ''}`,
  truncation_detected: ({ file, reason, partialLength }) =>
    `truncated: ${all(file)}: ${reason}; ${count(partialLength, 'byte')} discarded`,
  edit_split_triggered: ({ file_count, reason }) =>
    `split by file: ${count(file_count, 'file')}: ${reason}`,
  edit_chunk_started: ({ file, chunk_index, total_chunks }) =>
    `calling the model for ${all(file)} (${chunk_index}/${total_chunks})`,
  edit_chunk_completed: ({ file, unchanged: why }) =>
    why === undefined ? `answered: ${all(file)}` : `unchanged: ${all(file)}: ${why}`,
  edit_chunk_failed: ({ file, reason }) => `failed: ${all(file)}: ${reason}`,
  edit_step_paused: ({ reason, decision }) => `paused: ${reason} (decision ${decision})`,
  format_chosen: ({ file_path, line_count, bucket, format, deletes }) =>
    deletes === true
      ? `${file_path}: will be deleted, as the job says`
      : `${file_path}: ${count(line_count, 'line')}, bucket ${bucket}, ${format}`,
  fallback: ({ file, to }) => `next try for ${all(file)}: ${to}`,
  answer_refused: ({ file, outcome, attempt, message }) =>
    `refused: ${all(file)} (${outcome}, answer ${attempt}): ${message}`,
  warning: ({ message }) => `warning: ${message}`,
  model_down: ({ tries, message, next }) =>
    `the model is down (try ${tries}): ${message}${next === null ? '' : ` Next try at ${clockTime(next)}; to retry now: emend retry RUN`}`,
  files_picked: ({ files }) =>
    `picked to edit: ${files.map(({ path, why }) => `${path} (${why})`).join('; ')}`,
  looking_for: ({ words }) => `looking once more, for ${words.join(', ')}`,
  brief_ready: () => 'wrote the brief: names and parts for all files',
  proposal_ready: ({ proposal, file_count, added, removed, ...used }) =>
    [
      `proposal ${proposal.slice(0, 8)}: ${count(file_count, 'file')}, +${added} -${removed}`,
      ...toleranceSentences(used),
    ].join('; '),
  decided: ({ answer, files, by }) =>
    `${answer}${files === 0 ? '' : ` for ${count(files, 'file')}`} by ${by}`,
  decision_resolved: ({ reason, decision }) => `resolved: ${reason} (decision ${decision})`,
  decision_ignored: ({ what, why }) => `ignored: ${what}: ${why}`,
  applied: ({ file_count }) => `applied to ${count(file_count, 'file')}`,
  apply_busy: ({ advice, holder }) => `waiting: ${advice ?? `${holder} has locked the workspace`}`,
  conflict: ({ where, files }) => `conflict at ${where}: ${files.join(', ')}`,
  rebased: ({ clean }) => (clean ? 'rebased onto the current files' : 'could not be rebased'),
  verified: ({ outcome, summary }) => `tests: ${outcome}${summary === '' ? '' : `: ${summary}`}`,
  base_tested: (event) => testsText({ on: 'base', ...event }),
  audited: (event) => `audit: ${auditText(event)}`,
  rolled_back: ({ file_count, leftAlone }) =>
    `rolled back ${count(file_count, 'file')}${leftAlone.length === 0 ? '' : `; skipped, changed in the meantime: ${leftAlone.join(', ')}`}`,
  committed: ({ commit, note }) =>
    `committed ${commit.slice(0, 12)}${note === null ? '' : `: ${note}`}`,
  activity_failed: ({ activity, message }) => `${activity} failed: ${message}`,
  abort_requested: ({ by }) => `abort requested by ${by}`,
  step_finished: ({ outcome }) => `finished: ${outcome}`,
  estimated: ({ budget, ...estimate }) =>
    `estimate: ${expectedText(estimate)}; ${moneyBudgetText(budget)}`,
  plan_estimated: (event) =>
    `estimate for ${estimateText({
      ...event,
      estimate: event,
      most: event.most ?? null,
    })}`,
  plan_started: ({ phases, done, mode, waves }) =>
    `plan of ${count(phases, 'phase')}, ${done} done, ${mode}: ${waves.map((wave) => wave.join(', ')).join(' | ')}`,
  resumed_from: takenText,
  phase_started: ({ phase, place, total, name, tasks, list = [] }) =>
    `${phaseText(phase, place, total)}: ${name} (${count(tasks, 'task')})` +
    list.map((text, index) => `${index === 0 ? ': ' : '; '}${index + 1}. ${text}`).join('') +
    (list.length > 0 && list.length < tasks ? `; and ${tasks - list.length} more` : ''),
  complexity_checked: ({ phase, score, method, threshold, expanded, above }) =>
    `Phase ${phase}: complexity ${score} (${SCORED[method] ?? method}; threshold ${threshold}${expanded ? ', expanded' : ''})${above.length === 0 ? '' : `: ${above.join(', ')}`}`,
  phase_editing: ({ phase, child }) => `Phase ${phase}: editing (emend show ${shownKey(child)})`,
  phase_fallback: ({ phase, to }) => `Phase ${phase}: next attempt: ${to}`,
  phase_tested: ({ phase, outcome }) =>
    `Phase ${phase}: ${outcome === 'no_tests' ? 'no tests were run' : `tests: ${outcome}`}`,
  phase_committed: ({ phase, commit }) => `Phase ${phase}: committed ${commit.slice(0, 12)}`,
  phase_merged: ({ phase, commit }) =>
    `Phase ${phase}: ${commit === null ? 'was already merged' : `merged in ${commit.slice(0, 12)}`}`,
  merged_tested: ({ outcome, summary }) =>
    `tests of the merged phases: ${outcome}${summary === '' ? '' : `: ${summary}`}`,
  worktree_removed: ({ name, dropped, kept }) =>
    `worktree ${name} removed${dropped === null ? '' : `; its last commit was ${dropped.slice(0, 12)}${kept === undefined ? '' : `, kept as ${kept}`}`}`,
  phase_failed: ({ phase, kind, consecutive, summary }) =>
    `Phase ${phase}: tests failed (${kind ?? 'unknown'}, ${consecutive} in a row): ${summary}`,
  phase_closed: ({ phase, as, why }) => `Phase ${phase}: ${as}: ${why}`,
  phase_marked: ({ phase, marker, commit, why }) =>
    `Phase ${phase}: marked [${marker.toUpperCase()}]${commit === null ? '' : ` in ${commit.slice(0, 12)}`}${why === null ? '' : `: ${why}`}`,
  checkpoint_saved: ({ number }) => `checkpoint ${number} saved`,
  markers_checked: ({ lost }) =>
    lost.length === 0
      ? 'every completed phase is marked'
      : `restored lost marks: Phase ${lost.join(', ')}`,
  plan_paused: ({ by }) => `paused after this phase by ${by}`,
  plan_resumed: ({ by }) => `continued by ${by}`,
  plan_stop_wanted: ({ by }) => `will stop after this phase, requested by ${by}`,
  plan_finished: ({ outcome }) => `plan finished: ${outcome}`,
  second_score: ({ phase, message, score, method }) =>
    `Phase ${phase}: second score: ${message === null ? `${score} (${method})` : `none, ${message}`}`,
  score_discrepancy: ({ phase, threshold, agent, reasoning }) =>
    `Phase ${phase}: scores differ: ${threshold} and ${agent}: ${reasoning}`,
  trigger_checked: ({ phase, trigger, tier, outcome, why }) =>
    `Phase ${phase}: ${trigger}: ${tier ?? outcome}: ${why}`,
  replan_triggered: ({ phase, trigger, replans, limit, status }) =>
    `Phase ${phase}: replan because of ${trigger} (${replans}/${limit}, ${status})`,
  replanned: ({
    phase,
    action,
    oldStructure,
    newStructure,
    complexityBefore,
    complexityAfter,
    forced,
  }) =>
    `Phase ${phase}: ${action}: ${oldStructure} -> ${newStructure}, ` +
    `complexity ${complexityBefore} -> ${complexityAfter}${forced ? ', forced' : ''}`,
  replan_failed: ({ phase, why }) => `Phase ${phase}: replan failed: ${why}`,
  loop_stopped: ({ phase, replans, limit, status, why }) =>
    status === 'forced_override'
      ? `Phase ${phase}: WARNING: Forcing replan despite limit (user override: ${why}); replanned ${replans}/${limit}, the counter starts again`
      : `Phase ${phase}: replans stopped at ${replans}/${limit}: ${why}`,
  debug_report: ({ phase, path, message }) =>
    `Phase ${phase}: ${path === null ? `no debugging report: ${message ?? ''}` : `debugging report at ${path}`}`,
  scope_drift: ({ phase, by, text }) => `${ofPhase(phase)}out of scope, reported by ${by}: ${text}`,
  revision_wanted: ({ phase, by, text }) => `${ofPhase(phase)}revision requested by ${by}: ${text}`,
};

/** One of a later build by its name. */
export const describeEvent = <T extends EventType>(event: EventOf<T>): string =>
  Object.hasOwn(TEXTS, event.type) ? TEXTS[event.type](event) : event.type.replaceAll('_', ' ');

// Cells of the ledger as people read them, the same in the terminal, on the page and in reports. Pure.

/** How large a file of the ledger is, for people. */
export const sizeText = ({
  isNew,
  deletes,
  lines,
}: Pick<LedgerRow, 'isNew' | 'deletes' | 'lines'>): string => {
  if (deletes === true) return 'delete';
  return isNew ? 'new' : count(lines, 'line');
};

/** In which format a file is asked for; a file that goes is asked for in none. */
export const formatText = ({ deletes, format }: Pick<LedgerRow, 'deletes' | 'format'>): string =>
  deletes === true ? '' : format;

/** How often it was asked about, and what the limits allow: at this fallback (`maxAttemptsPerFile`), in all (`maxCallsPerFile`). */
export const attemptsText = ({
  attempts,
  attemptsLeft,
  callsLeft,
}: Pick<LedgerRow, 'attempts' | 'attemptsLeft' | 'callsLeft'>): string =>
  attemptsLeft === undefined
    ? `${attempts || ''}`
    : `${attempts} (${attemptsLeft} and ${callsLeft ?? 0} left)`;

/** What it paid for so far, how many edit calls `maxTotalChunks` still allows, and what it was expected to take. */
export const soFarText = ({
  usage,
  chunksLeft,
  estimate,
  budget,
}: Pick<StepStatus, 'usage' | 'chunksLeft' | 'estimate' | 'budget'>) =>
  [
    usageText(usage),
    ...(chunksLeft === undefined ? [] : [`${count(chunksLeft, 'edit call')} left`]),
    ...(estimate === undefined ? [] : [`expected: ${expectedText(estimate)}`]),
    ...(budget === undefined ? [] : [moneyBudgetText(budget)]),
  ].join('; ');

// The four questions that are asked of a plan's events: `emend events --kind`. Pure.

export const EVENT_KINDS = ['complexity', 'replan', 'loop', 'failures'] as const;
export type EventKind = (typeof EVENT_KINDS)[number];

const TYPES: Readonly<Record<EventKind, readonly StepEvent['type'][]>> = {
  complexity: ['complexity_checked', 'second_score', 'score_discrepancy'],
  replan: [
    'scope_drift',
    'revision_wanted',
    'debug_report',
    'replan_triggered',
    'replanned',
    'replan_failed',
  ],
  loop: ['loop_stopped'],
  failures: ['phase_failed'],
};

/**
 * Which trigger was judged says whether the judgement belongs to complexity or to replans. Failed tests of a job and of merged phases count
 * as failures.
 */
export function isOfKind(event: StepEvent, kind: EventKind): boolean {
  if (event.type === 'trigger_checked')
    return kind === (event.trigger === 'complexity' ? 'complexity' : 'replan');
  if (event.type === 'verified' || event.type === 'merged_tested')
    return kind === 'failures' && event.outcome.startsWith('fail');
  return TYPES[kind].includes(event.type);
}

/** `2  Phase 1, syntax`: how often what failed in which way, the most frequent first. Takes failures only. */
export function failurePatterns(failures: readonly StepEvent[]): readonly string[] {
  const patterns = failures.map((event) => {
    const what =
      event.type === 'phase_failed'
        ? `Phase ${event.phase}`
        : event.type === 'verified'
          ? 'job'
          : 'merged phases';
    return `${what}, ${('kind' in event ? event.kind : null) ?? 'unknown'}`;
  });
  return [...tally(patterns)]
    .sort(([, a], [, b]) => b - a)
    .map(([pattern, n]) => `${n}  ${pattern}`);
}

/** `1 task is not done: Write the tests (no room)`, for a phase's summary, its event and its status. Pure. */
export const describeUnfinished = (
  unfinished: readonly { readonly text: string; readonly why: string }[],
): string =>
  `${count(unfinished.length, 'task')} ${unfinished.length === 1 ? 'is' : 'are'} not done: ${unfinished
    .map(({ text, why }) => `${text} (${why})`)
    .join('; ')}`;
