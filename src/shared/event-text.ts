/** An event in one line, with the words that the documentation uses: for the terminal, the report and the page. Pure. */
import type { StepEvent, PlanEventBody } from './events.js';
import { clockTime } from './outage.js';
import { count } from './text.js';
import type { LedgerRow } from './run.js';
import type { PhaseEstimate } from './plan.js';
import { NO_USAGE, usageText } from './usage.js';
import { shownKey } from './ids.js';

// Scores, triggers, replans and loop stops of a plan, in a line each. Pure.

export type RuleEvent = Extract<
  PlanEventBody,
  {
    type:
      | 'second_score'
      | 'score_discrepancy'
      | 'trigger_checked'
      | 'replan_triggered'
      | 'replanned'
      | 'replan_failed'
      | 'loop_stopped'
      | 'debug_report'
      | 'scope_drift';
  }
>;

const ruleEventText = (event: RuleEvent): string => {
  const { type } = event;
  switch (type) {
    case 'second_score':
      return `Phase ${event.phase}: second score: ${event.message === null ? `${event.score} (${event.method})` : `none, ${event.message}`}`;
    case 'score_discrepancy':
      return `Phase ${event.phase}: scores differ: ${event.threshold} and ${event.agent}: ${event.reasoning}`;
    case 'trigger_checked':
      return `Phase ${event.phase}: ${event.trigger}: ${event.tier ?? event.outcome}: ${event.why}`;
    case 'replan_triggered':
      return `Phase ${event.phase}: replan because of ${event.trigger} (${event.replans}/${event.limit}, ${event.status})`;
    case 'replanned':
      return (
        `Phase ${event.phase}: ${event.action}: ${event.oldStructure} -> ${event.newStructure}, ` +
        `complexity ${event.complexityBefore} -> ${event.complexityAfter}${event.forced ? ', forced' : ''}`
      );
    case 'replan_failed':
      return `Phase ${event.phase}: no replan: ${event.why}`;
    case 'loop_stopped':
      return `Phase ${event.phase}: replans stopped at ${event.replans}/${event.limit}: ${event.why}`;
    case 'debug_report':
      return `Phase ${event.phase}: ${event.path === null ? `no debugging report: ${event.message ?? ''}` : `debugging report at ${event.path}`}`;
    case 'scope_drift':
      return `out of scope, says ${event.by}: ${event.text}`;
  }
};

export function estimateText(
  phases: number,
  estimate: PhaseEstimate,
  most: PhaseEstimate | null,
  over: readonly string[],
): string {
  const about = (expected: PhaseEstimate): string => `about ${usageText({ ...NO_USAGE, ...expected })}`;
  const least = `${about(estimate)}, if none fails`;
  const range =
    most === null
      ? least
      : `from ${least}, to at most ${about(most)}, if each fails its tests up to its limit of replans`;
  return [`${count(phases, 'phase')}: ${range}`, ...over].join('; ');
}

// What a plan tells of itself, in a line each: for the terminal, the report and the page. Pure.

/** Where a phase's score comes from. */
const SCORED: Readonly<Record<string, string>> = {
  threshold: 'counted',
  agent: 'judged by a model',
  reconciled: 'counted and judged by a model',
};

const planEventText = (event: PlanEventBody): string => {
  switch (event.type) {
    case 'plan_estimated':
      return `estimate for ${estimateText(event.phases, event, event.most ?? null, event.over)}`;
    case 'plan_started':
      return `plan of ${count(event.phases, 'phase')}, ${event.done} done, ${event.mode}: ${event.waves.map((wave) => wave.join(', ')).join(' | ')}`;
    case 'resumed_from':
      return takenText(event);
    case 'phase_started':
      return `Phase ${event.phase}/${event.total}: ${event.name} (${count(event.tasks, 'task')})`;
    case 'complexity_checked':
      return `Phase ${event.phase}: complexity ${event.score} (${SCORED[event.method] ?? event.method}; threshold ${event.threshold}${event.expanded ? ', expanded' : ''})${event.above.length === 0 ? '' : `: ${event.above.join(', ')}`}`;
    case 'phase_editing':
      return `Phase ${event.phase}: editing (emend show ${shownKey(event.child)})`;
    case 'phase_fallback':
      return `Phase ${event.phase}: asked again in another way: ${event.to}`;
    case 'phase_tested':
      return `Phase ${event.phase}: ${event.outcome === 'no_tests' ? 'no tests were run' : `tests: ${event.outcome}`}`;
    case 'phase_committed':
      return `Phase ${event.phase}: committed ${event.commit.slice(0, 12)}`;
    case 'phase_merged':
      return `Phase ${event.phase}: ${event.commit === null ? 'was merged already' : `merged in ${event.commit.slice(0, 12)}`}`;
    case 'merged_tested':
      return `tests of the merged phases: ${event.outcome}${event.summary === '' ? '' : `: ${event.summary}`}`;
    case 'worktree_removed':
      return `worktree ${event.name} removed${event.dropped === null ? '' : `; its last commit was ${event.dropped.slice(0, 12)}${event.kept === undefined ? '' : `, kept as ${event.kept}`}`}`;
    case 'phase_failed':
      return `Phase ${event.phase}: tests failed (${event.kind ?? 'unknown'}, ${event.consecutive} in a row): ${event.summary}`;
    case 'phase_closed':
      return `Phase ${event.phase}: ${event.as}: ${event.why}`;
    case 'phase_marked':
      return `Phase ${event.phase}: marked [${event.marker.toUpperCase()}]${event.commit === null ? '' : ` in ${event.commit.slice(0, 12)}`}${event.why === null ? '' : `: ${event.why}`}`;
    case 'checkpoint_saved':
      return `checkpoint ${event.number} saved`;
    case 'markers_checked':
      return event.lost.length === 0
        ? 'every phase that is done is marked'
        : `marks lost and written again: Phase ${event.lost.join(', ')}`;
    case 'plan_paused':
      return `paused after this phase by ${event.by}`;
    case 'plan_resumed':
      return `goes on, by ${event.by}`;
    case 'plan_stop_wanted':
      return `stops after this phase, by ${event.by}`;
    case 'plan_finished':
      return `plan finished: ${event.outcome}`;
    default:
      return ruleEventText(event);
  }
};

const takenText = ({
  run,
  committed,
  failures,
  replans,
  spent,
}: Extract<PlanEventBody, { type: 'resumed_from' }>): string =>
  [
    run === null ? 'goes on from what was committed' : `goes on from the checkpoint of ${run}`,
    ...(committed.length === 0 ? [] : [`Phase ${committed.join(', ')} committed, to be marked`]),
    ...(failures === 0 ? [] : [count(failures, 'failure')]),
    ...(replans === 0 ? [] : [count(replans, 'replan')]),
    ...(spent === undefined ? [] : [`used of the budgets: ${usageText(spent)}`]),
  ].join('; ');

const all = (file: string): string => (file === '*' ? 'all files' : file);

export const describeEvent = (event: StepEvent): string => {
  switch (event.type) {
    case 'preflight_complete':
      return `looked at ${count(event.targetFileCount, 'file')}, complexity ${event.estimatedComplexity}${event.shouldSplit ? `, split: ${event.reason}` : ''}`;
    case 'truncation_detected':
      return `truncated: ${all(event.file)}: ${event.reason}; ${count(event.partialLength, 'byte')} thrown away`;
    case 'edit_split_triggered':
      return `split by file: ${count(event.file_count, 'file')}: ${event.reason}`;
    case 'edit_chunk_started':
      return `asking for ${all(event.file)} (${event.chunk_index}/${event.total_chunks})`;
    case 'edit_chunk_completed':
      return `answered: ${all(event.file)}`;
    case 'edit_chunk_failed':
      return `failed: ${all(event.file)}: ${event.reason}`;
    case 'edit_step_paused':
      return `paused: ${event.reason} (decision ${event.decision})`;
    case 'format_chosen':
      if (event.deletes === true) return `${event.file_path}: goes, as the job says`;
      return `${event.file_path}: ${count(event.line_count, 'line')}, bucket ${event.bucket}, ${event.format}`;
    case 'fallback':
      return `next try for ${all(event.file)}: ${event.to}`;
    case 'answer_refused':
      return `refused: ${all(event.file)} (${event.outcome}, answer ${event.attempt}): ${event.message}`;
    case 'warning':
      return `warning: ${event.message}`;
    case 'model_down':
      return `the model is down (try ${event.tries}): ${event.message}${event.next === null ? '' : ` Next try at ${clockTime(event.next)}; at once: emend retry RUN`}`;
    case 'files_picked':
      return `picked ${count(event.file_count, 'file')} to edit`;
    case 'brief_ready':
      return 'agreed on names and parts';
    case 'proposal_ready':
      return `proposal ${event.proposal.slice(0, 8)}: ${count(event.file_count, 'file')}, +${event.added} -${event.removed}`;
    case 'decided':
      return `${event.answer} for ${count(event.files, 'file')} by ${event.by}`;
    case 'decision_resolved':
      return `resolved: ${event.reason} (decision ${event.decision})`;
    case 'decision_ignored':
      return `did not count: ${event.what}: ${event.why}`;
    case 'applied':
      return `applied to ${count(event.file_count, 'file')}`;
    case 'apply_busy':
      return `waiting: ${event.advice ?? `${event.holder} holds the workspace`}`;
    case 'conflict':
      return `conflict at ${event.where}: ${event.files.join(', ')}`;
    case 'rebased':
      return event.clean ? 'carried over to the files as they are now' : 'could not be carried over';
    case 'verified':
      return `tests: ${event.outcome}${event.summary === '' ? '' : `: ${event.summary}`}`;
    case 'rolled_back':
      return `rolled back ${count(event.file_count, 'file')}${event.leftAlone.length === 0 ? '' : `; left alone, changed meanwhile: ${event.leftAlone.join(', ')}`}`;
    case 'committed':
      return `committed ${event.commit.slice(0, 12)}${event.note === null ? '' : `: ${event.note}`}`;
    case 'activity_failed':
      return `${event.activity} failed: ${event.message}`;
    case 'abort_requested':
      return `abort asked by ${event.by}`;
    case 'step_finished':
      return `finished: ${event.outcome}`;
    default:
      return planEventText(event);
  }
};

// Cells of the ledger as people read them, the same in the terminal, on the page and in reports. Pure.

/** How large a file of the ledger is, for people. */
export const sizeText = ({ isNew, deletes, lines }: Pick<LedgerRow, 'isNew' | 'deletes' | 'lines'>): string => {
  if (deletes === true) return 'goes';
  return isNew ? 'new' : count(lines, 'line');
};

/** In which format a file is asked for; a file that goes is asked for in none. */
export const formatText = ({ deletes, format }: Pick<LedgerRow, 'deletes' | 'format'>): string =>
  deletes === true ? '' : format;

// The four questions that are asked of a plan's events: `emend events --kind`. Pure.

export const EVENT_KINDS = ['complexity', 'replan', 'loop', 'failures'] as const;
export type EventKind = (typeof EVENT_KINDS)[number];

const TYPES: Readonly<Record<EventKind, readonly StepEvent['type'][]>> = {
  complexity: ['complexity_checked', 'second_score', 'score_discrepancy'],
  replan: ['scope_drift', 'debug_report', 'replan_triggered', 'replanned', 'replan_failed'],
  loop: ['loop_stopped'],
  failures: ['phase_failed'],
};

/**
 * Which trigger was judged says whether the judgement belongs to complexity or to replans. Failed tests of a job and of merged phases count
 * as failures.
 */
export function isOfKind(event: StepEvent, kind: EventKind): boolean {
  if (event.type === 'trigger_checked') return kind === (event.trigger === 'complexity' ? 'complexity' : 'replan');
  if (event.type === 'verified' || event.type === 'merged_tested')
    return kind === 'failures' && event.outcome.startsWith('fail');
  return TYPES[kind].includes(event.type);
}

/** `2  Phase 1, syntax`: how often what failed in which way, the most frequent first. Takes failures only. */
export function failurePatterns(failures: readonly StepEvent[]): readonly string[] {
  const times = new Map<string, number>();
  for (const event of failures) {
    const what =
      event.type === 'phase_failed' ? `Phase ${event.phase}` : event.type === 'verified' ? 'job' : 'merged phases';
    const pattern = `${what}, ${('kind' in event ? event.kind : null) ?? 'unknown'}`;
    times.set(pattern, (times.get(pattern) ?? 0) + 1);
  }
  return [...times].sort(([, a], [, b]) => b - a).map(([pattern, n]) => `${n}  ${pattern}`);
}

/** `1 task is not done: Write the tests (no room)`, for a phase's summary, its event and its status. Pure. */
export const describeUnfinished = (unfinished: readonly { readonly text: string; readonly why: string }[]): string =>
  `${count(unfinished.length, 'task')} ${unfinished.length === 1 ? 'is' : 'are'} not done: ${unfinished
    .map(({ text, why }) => `${text} (${why})`)
    .join('; ')}`;
