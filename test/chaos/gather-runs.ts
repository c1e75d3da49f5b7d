/** Gathers what is known of runs: from the server's histories, the runs themselves, the archive and the call journal. */
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { WorkflowHandle } from '@temporalio/client';
import { archivedRun } from '../../src/client/archive/run.js';
import type { ResolvedRun } from '../../src/client/runs/resolve.js';
import { runEvents, showRun, type RunView } from '../../src/client/runs/show.js';
import { createCallJournal } from '../../src/model/journal/index.js';
import type {
  AnswerRecord,
  AttemptRecord,
  CallRecord,
  EndRecord,
} from '../../src/model/journal/records.js';
import type { JournaledAttempt } from '../../src/model/ports.js';
import type { StepEvent } from '../../src/shared/events.js';
import { phaseKey } from '../../src/shared/ids.js';
import { createCallLog } from '../../src/stores/directory/records.js';
import { storePaths } from '../../src/stores/location.js';
import { worktreesDir } from '../../src/workspace/git/worktrees.js';
import type { Carried } from './carry.js';
import type { FoundAttempt, FoundCall, FoundPlan, FoundPlanRun, FoundStep } from './evidence.js';
import { git, lines, namesIn, recordsOf } from './gather.js';
import type { End } from './kind.js';
import { again, withHandle } from './person.js';
import { withNote } from './plans.js';
import type { World } from './world.js';

const ASK_TIMES = 10;

const readJson = (path: string): unknown => {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as unknown;
  } catch {
    return null;
  }
};
const callsOf = async (world: World, stepKey: string): Promise<FoundCall[]> => {
  // Without EMEND_STORE the home is the store, too.
  const { calls } = storePaths(world.home);
  const never = {
    stream: () => Promise.reject(new Error('nothing is asked here')),
    ready: () => null,
  };
  const journal = createCallJournal({
    calls: createCallLog({ dir: calls }),
    model: never,
    callOwner_ms: 1_000,
  });
  const attempts = await journal.attempts(stepKey);
  return namesIn(join(calls, stepKey)).flatMap((callKey) => {
    const dir = join(calls, stepKey, callKey);
    const record = readJson(join(dir, 'call.json')) as CallRecord | null;
    if (record === null) return [];
    const answered = readJson(join(dir, 'answer.json')) as AnswerRecord | null;
    return [
      {
        nonce: record.nonce,
        answeredAt: answered === null ? null : Date.parse(answered.at),
        attempts: attempts
          .filter((each) => each.callKey === callKey)
          .map((each) => attemptIn(dir, each)),
      },
    ];
  });
};
/** Nothing is written to an attempt's log after its last event: the file's time is that event's. */
const attemptIn = (dir: string, { attempt, state }: JournaledAttempt): FoundAttempt => {
  const end = readJson(join(dir, `attempt-${attempt}.end.json`)) as EndRecord | null;
  const saidAt = end === null ? null : Date.parse(end.at);
  const begun = readJson(join(dir, `attempt-${attempt}.json`)) as AttemptRecord;
  return {
    state,
    begunAt: Date.parse(begun.at),
    givenUpAt: end?.state === 'unknown' ? saidAt : null,
    endedAt:
      state === 'answered'
        ? statSync(join(dir, `attempt-${attempt}.events.jsonl`)).mtimeMs
        : saidAt,
  };
};

type HistoryEvents = NonNullable<Awaited<ReturnType<WorkflowHandle['fetchHistory']>>['events']>;

const historyOf = (world: World, run: ResolvedRun): Promise<HistoryEvents> =>
  withHandle(world, run, async (handle) => (await handle.fetchHistory()).events ?? []);
/** `WORKFLOW_TASK_FAILED_CAUSE_FORCE_CLOSE_COMMAND` of temporal.api.enums.v1: what the server writes for a task that a terminate cut off. */
const FORCE_CLOSE_COMMAND = 17;
/**
 * A reset writes a failed task of its own, which names the run that it was made from; a task that news overtook is done again
 * (UnhandledCommand).
 */
const taskFailuresIn = (events: HistoryEvents): string[] =>
  events
    .map(({ workflowTaskFailedEventAttributes: failed }) => failed)
    .filter((failed) => failed != null && (failed.baseRunId ?? '') === '')
    .filter((failed) => failed?.failure?.message !== 'UnhandledCommand')
    .filter((failed) => Number(failed?.cause) !== FORCE_CLOSE_COMMAND)
    .map((failed) => failed?.failure?.message ?? 'without a message');
const talliedIn = (events: HistoryEvents): number | null => {
  const tallies = events
    .filter(
      ({ activityTaskScheduledEventAttributes: scheduled }) =>
        scheduled?.activityType?.name === 'countUsage',
    )
    .map(({ eventId }) => String(eventId));
  const last = events.findLast(({ activityTaskCompletedEventAttributes: completed }) =>
    tallies.includes(String(completed?.scheduledEventId)),
  );
  const { seconds, nanos } = last?.eventTime ?? {};
  return last === undefined ? null : Number(seconds ?? 0) * 1000 + (nanos ?? 0) / 1_000_000;
};

const eventsOf = async (world: World, run: ResolvedRun): Promise<StepEvent[]> => {
  const all: StepEvent[] = [];
  for (
    let page = await runEvents(world.emend, run);
    page.length > 0;
    page = await runEvents(world.emend, run, all.at(-1)?.seq ?? 0)
  )
    all.push(...page);
  return all;
};

/** What the run itself says: on a busy machine its worker may take longer than a query waits, and the archive would answer. */
const askedOf = async (world: World, run: ResolvedRun): Promise<RunView> => {
  for (let asked = 1; ; asked++) {
    const view = await showRun(world.emend, run);
    if (view.source === 'run' || asked === ASK_TIMES) return view;
  }
};

/** What is found of every run, be it a step's or a plan's. */
interface FoundRun {
  readonly view: RunView;
  readonly history: HistoryEvents;
  readonly common: Pick<
    FoundStep,
    'stepKey' | 'pauses' | 'reset' | 'events' | 'archived' | 'taskFailures'
  >;
}
const gatherRun = async (
  world: World,
  { planned, asked }: Carried,
  stepKey: string,
): Promise<FoundRun> => {
  const run = await again(world, stepKey);
  if (run === null)
    throw new Error(`${planned.carrier.name}: the run ${stepKey} was started and is not known`);
  const view = await askedOf(world, run);
  const entries = await world.emend.archive.read(stepKey);
  const { closed } = archivedRun(stepKey, entries);
  const history = await historyOf(world, run);
  return {
    view,
    history,
    common: {
      stepKey,
      pauses: asked.get(stepKey) ?? [],
      reset: planned.kind.name.startsWith('reset'),
      events: await eventsOf(world, run),
      archived: {
        status: closed?.status ?? null,
        outcome: closed?.result?.outcome ?? null,
        commit: closed?.result?.commit ?? null,
        files: closed?.result?.files ?? [],
        deciders: entries.flatMap(({ kind: of, data }) =>
          of === 'decision'
            ? [(data as { request: { by: { name: string } } }).request.by.name]
            : [],
        ),
      },
      taskFailures: taskFailuresIn(history),
    },
  };
};

interface StepOf {
  readonly stepKey: string;
  readonly paths: readonly string[];
  readonly status: string | null;
  readonly ends: readonly End[];
  readonly dropped: boolean;
}
const stepOf = async (world: World, carried: Carried, step: StepOf): Promise<FoundStep> => {
  const { carrier, kind } = carried.planned;
  const { view, history, common } = await gatherRun(world, carried, step.stepKey);
  const only = (texts: Readonly<Record<string, string>>): Record<string, string> =>
    Object.fromEntries(Object.entries(texts).filter(([path]) => step.paths.includes(path)));
  return {
    ...common,
    ...step,
    carrier: carrier.name,
    kind: kind.name,
    workspace: carrier.workspace,
    base: only(carrier.base),
    wanted: only(carrier.wanted),
    rounds: common.pauses.length,
    result: view.status.result,
    ledger: view.ledger,
    usage: view.status.usage,
    talliedAt: talliedIn(history),
    records: await recordsOf(world, step.stepKey),
    calls: await callsOf(world, step.stepKey),
  };
};

const planRunOf = async (
  world: World,
  carried: Carried,
  stepKey: string,
): Promise<FoundPlanRun> => {
  const { view, common } = await gatherRun(world, carried, stepKey);
  const { status } = view;
  const live = await again(world, stepKey);
  return {
    ...common,
    status: live?.live?.open === false ? live.live.status : null,
    outcome: status.result?.outcome ?? null,
    phases: (status.plan?.phases ?? []).map((phase) => {
      const runs = Number(phase.run?.split('-').at(-1) ?? 0);
      return {
        id: phase.id,
        number: phase.number,
        status: phase.status,
        runs: Array.from({ length: runs }, (_, n) => phaseKey(stepKey, phase.id, n + 1)),
      };
    }),
  };
};

/** Worktrees, branches and their records that a plan made and that are still there. */
const resumePointOf = (world: World, workspace: string, stepKeys: readonly string[]): string[] => [
  ...lines(git(workspace, 'worktree', 'list', '--porcelain'))
    .filter((line) => line.startsWith('worktree '))
    .slice(1),
  ...lines(git(workspace, 'branch', '--format=branch %(refname)')).filter((line) =>
    line.includes('/emend/'),
  ),
  ...namesIn(join(workspace, '.git', 'worktrees')).map((name) => `.git/worktrees/${name}`),
  ...[worktreesDir(world.home), join(world.home, 'worktrees')].flatMap((dir) =>
    namesIn(dir).flatMap((plan) =>
      stepKeys.includes(plan) ? [join(dir, plan), ...namesIn(join(dir, plan))] : [],
    ),
  ),
];

/** What is found of a carrier: its step, or its plan and the steps of the plan's phases. */
export const gatherCarried = async (
  world: World,
  carried: Carried,
): Promise<{ readonly steps: readonly FoundStep[]; readonly plans: readonly FoundPlan[] }> => {
  const { planned, stepKeys, status } = carried;
  const { carrier, kind } = planned;
  const ends = kind.ends ?? ['committed'];
  const { name, workspace, paths, plan } = carrier;
  if (plan === null) {
    const steps = stepKeys.map((stepKey) =>
      stepOf(world, carried, { stepKey, paths, status, ends, dropped: false }),
    );
    return { steps: await Promise.all(steps), plans: [] };
  }
  const runs: FoundPlanRun[] = [];
  for (const stepKey of stepKeys) runs.push(await planRunOf(world, carried, stepKey));
  const steps: FoundStep[] = [];
  for (const run of runs)
    for (const { number, runs: keys } of run.phases)
      for (const stepKey of keys) {
        const child = await again(world, stepKey);
        // Said to run, and never begun: it was stopped in between.
        if (child === null) continue;
        const { path } = plan.phases.find((phase) => phase.number === number)!;
        const merged = run.events.some(
          (event) => event.type === 'phase_merged' && event.phase === number,
        );
        const isBeside = run.events.some(
          (event) => event.type === 'worktree_removed' && event.name === nameIn(stepKey),
        );
        const dropped = run.outcome !== 'completed' && isBeside && !merged;
        const how = child.live?.open === false ? child.live.status : null;
        steps.push(
          await stepOf(world, carried, { stepKey, paths: [path], status: how, ends, dropped }),
        );
      }
  const found: FoundPlan = {
    carrier: name,
    kind: kind.name,
    ends: kind.planEnds ?? ['completed'],
    cuts: kind.planCuts ?? ['stopped'],
    workspace,
    document: plan.path,
    text: withNote(plan.text, world.notes.get(name) ?? null),
    phases: plan.phases,
    runs,
    left: resumePointOf(world, workspace, stepKeys),
  };
  return { steps, plans: [found] };
};

/** The worktree of a phase's run is named like it: `p2-1`. */
const nameIn = (stepKey: string): string => stepKey.split('-').slice(1).join('-');
