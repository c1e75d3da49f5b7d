/** What queries and the Temporal UI show of any run; there it is Markdown in which others' words are no markup, bounded in bytes. Pure. */
import {
  meaningOf,
  UNSIGNED_ANSWERS,
  type Answer,
  type DecisionPoint,
} from '../../shared/decisions.js';
import { partText, proposalWords } from '../../shared/event-text.js';
import type { EventLog, StepEvent } from '../../shared/events.js';
import { BOUNDS } from '../../shared/limits.js';
import {
  stateOfOutcome,
  type EventsQuery,
  type RunSetup,
  type StepOutcome,
  type StepResult,
  type StepStatus,
} from '../../shared/run.js';
import { shownKey, type StepKey } from '../../shared/ids.js';
import { MESSAGES } from '../../shared/messages.js';
import { VERSION } from '../../shared/problems.js';
import type { ProposalSummary } from '../../shared/proposal-activities.js';
import { bodyOf } from '../../shared/validate-decision.js';
import type { RunState } from './machine.js';
import { bytesOf, codeSpan } from '../../shared/text.js';
import { NO_USAGE } from '../../shared/usage.js';

export const DETAILS_CHARS = 10_000; // bound: Over inlinePayload_bytes the Temporal UI would show a reference instead of the text.
const CHECKS_BYTES = 3_000; // bound: What to check in a proposal; the answers must fit next to it.

/** Returns whether the payload codec would move a value of this size into the blob store. */
export const isOverInline = (size_bytes: number): boolean =>
  size_bytes > BOUNDS.inlinePayload_bytes;

/** Returns the result of a run that ended before it began. */
export const unbegunResult = (stepKey: StepKey, outcome: StepOutcome): StepResult => ({
  v: VERSION,
  stepKey,
  outcome,
  problem: null,
  usage: NO_USAGE,
  pausedFor_ms: 0,
  files: [],
  skipped: [],
  wasSplit: false,
  commit: null,
  proposalId: null,
  verification: null,
});

/** What every result says; of a run that has not ended: failed. */
export function resultBase({ input, stage, usage, openOnHost, left, pausedFor_ms }: RunState) {
  const { outcome, problem } =
    'outcome' in stage ? stage : ({ outcome: 'failed', problem: null } as const);
  const result = {
    v: VERSION,
    stepKey: input.stepKey,
    outcome,
    problem,
    usage,
    pausedFor_ms,
  } as const;
  return { ...result, ...(openOnHost === null ? {} : { openOnHost }), ...(left && { left }) };
}

function stateOf({ stage }: RunState, waits: boolean): StepStatus['state'] {
  if (!('outcome' in stage)) return waits ? 'waiting' : 'running';
  return stateOfOutcome(stage.outcome);
}

/** What every status says. `waits`: for a person. */
export function statusBase(run: RunState, waits = run.decision !== null) {
  const { input, stage, decision, usage, ignored, ignoredCount, nextSeq, left } = run;
  const { stepKey, workspace, title } = input;
  return {
    ...({
      v: VERSION,
      stepKey,
      workspace,
      title,
      state: stateOf(run, waits),
      stage: stage.at,
    } as const),
    ...(left && { left }),
    decision,
    usage,
    ignored,
    ...(ignoredCount === 0 ? {} : { ignoredCount }),
    lastSeq: nextSeq - 1,
  };
}

/** Queries come from anywhere: what is not a number is not an error. */
const number = (value: unknown, otherwise: number): number =>
  typeof value === 'number' && Number.isFinite(value) ? value : otherwise;

/** A page of events: those after `after` (a `seq`; default 0), at most `limit` (default 500, at most 1,000), oldest first. */
export const eventsOf = (
  state: Pick<EventLog, 'events'>,
  query: EventsQuery | undefined,
): readonly StepEvent[] => {
  const after = number(query?.after, 0);
  const limit = Math.max(1, Math.min(number(query?.limit, 500), 1000));
  return state.events.filter((event) => event.seq > after).slice(0, limit);
};

/**
 * Names the run, and where it is reviewed. The server drops the summary when the run continues in a new one (continue-as-new). A page
 * may have ended since the run began, so the command is there as well.
 */
export function titleLine({
  title,
  stepKey,
  page,
}: Pick<RunSetup, 'title' | 'stepKey' | 'page'>): string {
  const run = shownKey(stepKey);
  const link = page === undefined ? '' : ` · [Review page](<${page}/#/run/${stepKey}>)`;
  return `${codeSpan(title, 200)}${link} · \`emend review ${run}\` · \`emend show ${run}\``;
}

/** Answers that apply the proposal of their decision as it is. */
const APPLYING: readonly Answer[] = ['approve', 'keep'];

/** Returns what a reviewer must look at in a proposal that an answer would apply: protected paths first, then findings and tolerances. */
export function proposalChecks(
  proposal: ProposalSummary | null,
  decision: DecisionPoint,
  stepKey: StepKey,
): readonly string[] {
  if (proposal === null || decision.proposalId !== proposal.id) return [];
  if (!decision.accepts.some((answer) => APPLYING.includes(answer))) return [];
  const checks = proposalWords(proposal).said.map((check) => `- ${codeSpan(check)}`);
  if (checks.length === 0)
    return ['', 'Nothing to check: no protected path, no finding, no tolerance.'];
  const lines: string[] = [];
  let bytes = 0;
  for (const check of checks) {
    bytes += bytesOf(check) + 1;
    if (bytes > CHECKS_BYTES) break;
    lines.push(check);
  }
  const more = checks.length - lines.length;
  const rest = `- and ${more} more: \`emend review ${shownKey(stepKey)}\``;
  return ['', 'Check before you approve:', '', ...lines, ...(more === 0 ? [] : [rest])];
}

/** `checks`: lines that must be read before the answers. */
export function decisionDetails(
  decision: DecisionPoint,
  stepKey: string,
  checks: readonly string[] = [],
): string[] {
  return [
    `## Waiting for you: ${decision.reason}`,
    codeSpan(decision.message, 600),
    ...(decision.parts ?? []).flatMap((part) => ['', codeSpan(partText(part), 600)]),
    ...checks,
    '',
    ...answerLines(decision, stepKey),
    '',
    ...decisionFiles(decision),
  ];
}

/** Returns the files that an answer is about, with their messages. Those of an approval are the proposal's, which lists them itself. */
function decisionFiles({ reason, files }: DecisionPoint): readonly string[] {
  if (reason === 'approval' || files.length === 0) return [];
  const more = files.length - BOUNDS.detailsFiles;
  return [
    'Files of this decision:',
    '',
    ...files
      .slice(0, BOUNDS.detailsFiles)
      .map((file) => `- ${codeSpan(file.path)} ${codeSpan(file.message, 160)}`),
    ...(more > 0 ? [`- and ${more} more`] : []),
  ];
}

/** Returns the messages that count, with their bodies, and the commands for a terminal. A list wants a blank line before it, or it becomes one paragraph. */
function answerLines(decision: DecisionPoint, stepKey: string): readonly string[] {
  const { id, accepts, mustSign = false } = decision;
  const run = shownKey(stepKey);
  const sent = mustSign ? accepts.filter((answer) => UNSIGNED_ANSWERS.includes(answer)) : accepts;
  const means = (answer: Answer): string => flagsAsCode(meaningOf(decision, answer));
  return [
    mustSign
      ? "The other answers count only with an approver's signature. Without one, send one of these as a signal or an update, with this body:"
      : 'Send one of these as a signal or an update, with this body:',
    '',
    ...sent.map((answer) => {
      const name = Object.hasOwn(MESSAGES, answer) ? answer : MESSAGES.answer;
      return `- \`${name}\` \`${bodyOf(id, answer)}\` (${means(answer)})`;
    }),
    '',
    ...(sent.some((answer) => means(answer).includes('--')) ? [FLAGS_IN_BODY, ''] : []),
    'Or type one of these in a terminal:',
    '',
    ...accepts.map((answer) => {
      const command = `- \`emend decide ${run} ${answer} --decision ${id}\``;
      return sent.includes(answer) ? command : `${command}: ${means(answer)}`;
    }),
  ];
}

const FLAGS_IN_BODY =
  'In a body, `--set NAME=VALUE` is `"set": {"NAME": VALUE}`, and `--note` is `"note"`.';

/** Puts flags of commands in code spans. The Temporal UI turns two hyphens of other text into a dash. */
const flagsAsCode = (text: string): string =>
  text.replace(/--[a-z]+(?: [\w]+=("[^"]*"|\w+))?/g, '`$&`');

/** As many whole lines as fit; what must be read comes first. The server counts bytes (20,000), and a character of a path may be four of them. */
export const bounded = (lines: readonly string[]): string => {
  const kept: string[] = [];
  let bytes = 0;
  for (const line of lines) {
    bytes += bytesOf(line) + 1;
    if (bytes > DETAILS_CHARS) return [...kept, '', '… see the rest with `emend show`'].join('\n');
    kept.push(line);
  }
  return kept.join('\n');
};
