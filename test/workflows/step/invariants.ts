/** What holds at every fold and move of every step, whatever the fakes and the people do. The driver checks it throughout. */
import type { StepUsage } from '../../../src/shared/usage.js';
import { pathsToApply, isUnfinished } from '../../../src/workflows/step/selectors.js';
import type { Effect, Fact } from '../../../src/workflows/step/protocol.js';
import type { StepState } from '../../../src/workflows/step/state.js';
import { statusOf } from '../../../src/workflows/step/views.js';

const holds = (condition: boolean, what: string): void => {
  if (!condition) throw new Error(`invariant broken: ${what}`);
};
const COUNTED = [
  'calls',
  'unknownCalls',
  'input_tokens',
  'output_tokens',
  'seconds',
] as const satisfies (keyof StepUsage)[];

export function checkFold(before: StepState, after: StepState, fact: Fact): void {
  holds(after.nextSeq >= before.nextSeq, 'the number of the next event never falls');
  const news = after.events.filter((event) => event.seq >= before.nextSeq);
  news.forEach((event, index) => {
    holds(
      event.seq === before.nextSeq + index,
      `seq rises by one: ${event.seq} after ${before.nextSeq}`,
    );
  });
  holds(news.length === after.nextSeq - before.nextSeq, 'every number is an event');
  for (const name of COUNTED)
    holds(after.usage[name] >= before.usage[name], `usage.${name} never shrinks`);
  holds(after.nextDecision >= before.nextDecision, 'the number of the next decision never falls');
  if (after.decision !== null && after.decision.id !== before.decision?.id) {
    holds(before.decision === null, 'never two open decisions');
    holds(after.decision.n === before.nextDecision, 'a decision has a number of its own');
    holds(
      !after.resolved.some((past) => past.id === after.decision?.id),
      'a decision id never comes twice',
    );
    holds(after.decision.accepts.includes('abort'), 'every decision takes an abort');
  }
  holds(after.base.number >= before.base.number, 'snapshot numbers never fall');
  holds(before.commit === null || after.commit === before.commit, 'a commit stays');
  if (before.stage.at === 'closed')
    holds(
      after.stage.at === 'closed' && after.stage.outcome === before.stage.outcome,
      'closed stays closed',
    );
  if (after.stage.at === 'closed') {
    const { outcome } = after.stage;
    const ended = outcome === 'aborted' || outcome === 'skipped' || outcome === 'refused';
    holds(
      !ended || after.applied.all.length === 0,
      `${outcome} with files applied but not committed`,
    );
  }
  if (fact.type === 'decided' && fact.request.answer !== 'abort' && before.decision !== null) {
    // The first verdict on a file stands.
    for (const path of Object.keys(before.decision.answered))
      if (after.decision?.id === before.decision.id)
        holds(
          after.decision.answered[path] === before.decision.answered[path],
          `the answer for ${path} stands`,
        );
  }
  const statuses = new Set(['pending', 'in_progress', 'done', 'failed', 'skipped']);
  holds(
    after.edits.files.every((file) => statuses.has(file.status)),
    'statuses are the five of the ledger',
  );
  holds(
    new Set(after.edits.files.map((file) => file.path)).size === after.edits.files.length,
    'one ledger entry a file',
  );
}

export function checkMove(state: StepState, move: Effect): void {
  holds(state.decision === null, 'nothing moves while a decision is open');
  switch (move.kind) {
    case 'apply': {
      holds(move.files.length > 0, 'apply without files');
      const entries = new Map(state.edits.files.map((file) => [file.path, file]));
      for (const file of state.proposal?.files ?? []) {
        if (!move.files.includes(file.path) || file.by === 'person') continue;
        const verdict = entries.get(file.path)?.verdict ?? null;
        holds(verdict?.answer === 'approve', `${file.path} is applied without an approval`);
        holds(verdict?.key === file.key, `${file.path} is applied with an approval of other bytes`);
        holds(
          entries.get(file.path)?.status === 'done',
          `${file.path} is applied, but it is ${entries.get(file.path)?.status ?? 'unknown'}`,
        );
      }
      holds(
        move.files.every((path) => state.proposal?.files.some((file) => file.path === path)),
        'apply of files outside the proposal',
      );
      holds(state.abortedBy === null, 'apply after an abort');
      return;
    }
    case 'commit':
      holds(state.applied.all.length > 0, 'commit without apply');
      holds(state.applied.lock !== null, 'commit without a lock');
      holds(state.abortedBy === null, 'commit after an abort');
      holds(pathsToApply(state).length === 0, 'commit before all was applied');
      return;
    case 'verify':
      holds(state.applied.all.length > 0, 'verify without apply');
      return;
    case 'roll_back':
      holds(state.applied.all.length > 0, 'roll_back without apply');
      return;
    case 'propose': {
      const files = move.chunks.map((chunk) => chunk.file);
      holds(new Set(files).size === files.length, 'a file is asked for twice side by side');
      const entries = new Map(state.edits.files.map((file) => [file.path, file]));
      for (const file of files)
        if (file !== '*')
          holds(
            entries.get(file)?.status !== 'skipped' && entries.get(file)?.status !== 'done',
            `${file} is asked for though ${entries.get(file)?.status ?? 'unknown'}`,
          );
      if (files.includes('*'))
        holds(
          state.edits.files.every(
            (file) => file.status === 'pending' || file.status === 'in_progress',
          ),
          'a call for all files though some are decided',
        );
      holds(state.abortedBy === null, 'a call after an abort');
      const most = state.base.limits?.maxTotalChunks ?? Math.max(10, 2 * state.edits.files.length);
      holds(
        state.edits.chunks - state.edits.unanswered + move.chunks.length <= most,
        'more edit calls than maxTotalChunks',
      );
      holds(
        move.chunks.length <= (state.base.limits?.concurrency ?? 1),
        'more calls side by side than concurrency',
      );
      return;
    }
    default:
      return;
  }
}

/** The last `file 2/5` that was shown, and the files that were done with so far, on this base. */
export interface ShownNumber {
  readonly base: number;
  readonly number: number;
  readonly before: number;
  readonly doneWith: ReadonlySet<string>;
}
/** Within a base a file's number never goes back, and goes up by as many files as came to an end in between. */
export function checkNumber(last: ShownNumber | null, state: StepState): ShownNumber {
  const base = state.base.number;
  const { files } = state.edits;
  const known =
    last?.base === base ? last : { base, number: 0, before: 0, doneWith: new Set<string>() };
  const ended = files.filter((file) => !isUnfinished(file)).map((file) => file.path);
  const doneWith = new Set([...known.doneWith, ...ended]);
  const [, shown] = /^file (\d+)\/\d+: /.exec(statusOf(state).doing) ?? [];
  if (shown === undefined) return { ...known, doneWith };
  const number = Number(shown);
  // One fold may end a file and ask again for it.
  const again = files.filter((file) => file.again === true).map((file) => file.path);
  const first = new Set([...doneWith, ...again]).size + 1;
  const most = known.number === 0 ? first : known.number + doneWith.size - known.before;
  holds(number <= files.length, `file ${number} of ${files.length}`);
  holds(number >= known.number, `file ${number} after file ${known.number}`);
  holds(number <= most, `file ${number} after file ${known.number}, and at most ${most} is due`);
  return { base, number, before: doneWith.size, doneWith };
}
