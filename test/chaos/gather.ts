/** Gathers the evidence: from git, the files, the stores on disk, the server's histories and the model's own log of requests. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { WorkflowHandle } from '@temporalio/client';
import { archivedRun } from '../../src/client/archived.js';
import type { ResolvedRun } from '../../src/client/resolve-run.js';
import { runEvents, showRun, type RunView } from '../../src/client/show-run.js';
import { createDiskJournal } from '../../src/model/journal.js';
import type { AnswerRecord, EndRecord, SlotRecord } from '../../src/model/slot-files.js';
import type { JournaledCall } from '../../src/model/types.js';
import type { StepEvent } from '../../src/shared/events.js';
import { createApplyEngine } from '../../src/workspace/apply.js';
import { isOpen, openRecord } from '../../src/workspace/apply-record.js';
import { homePaths } from '../../src/workspace/home.js';
import { storePaths } from '../../src/workspace/store.js';
import { realSys } from '../../src/workspace/sys.js';
import type { Carried } from './carry.js';
import type {
  FoundCall,
  FoundCommit,
  FoundRecord,
  FoundRequest,
  FoundSlot,
  FoundStep,
  FoundWorkspace,
} from './evidence.js';
import { again, withHandle } from './person.js';
import type { World } from './world.js';

const ASK_TIMES = 10;

const git = (workspace: string, ...args: string[]): string =>
  execFileSync('git', args, { cwd: workspace, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
const lines = (text: string): string[] => text.split('\n').filter((line) => line !== '');

const filesBelow = (dir: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(dir, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .map((path): [string, string] => [relative(dir, path), path])
      .filter(([name]) => !name.startsWith('.git/'))
      .map(([name, path]) => [name, readFileSync(path, 'utf8')]),
  );

const commitsOf = (workspace: string): FoundCommit[] =>
  lines(git(workspace, 'rev-list', '--reverse', 'HEAD'))
    .slice(1)
    .map((id) => {
      const trailers = git(workspace, 'log', '-1', '--format=%(trailers:key=Emend-Step,valueonly)', id);
      const paths = lines(git(workspace, 'diff-tree', '-r', '--no-commit-id', '--name-only', '--diff-filter=d', id));
      return {
        id,
        steps: lines(trailers),
        changed: Object.fromEntries(paths.map((path) => [path, git(workspace, 'show', `${id}:${path}`)])),
      };
    });

export const gatherWorkspace = async (world: World, path: string): Promise<FoundWorkspace> => {
  const engine = createApplyEngine({ home: world.home, blobs: world.emend.blobs });
  const fsck = ((): string[] => {
    try {
      git(path, 'fsck', '--no-dangling', '--no-progress');
      return [];
    } catch (error) {
      return [String(error)];
    }
  })();
  return {
    path,
    files: filesBelow(path),
    commits: commitsOf(path),
    status: lines(git(path, 'status', '--porcelain', '--ignored', '--untracked-files=all')),
    fsck,
    locks: readdirSync(join(path, '.git'), { recursive: true, encoding: 'utf8' }).filter((name) =>
      name.endsWith('.lock'),
    ),
    lease: await engine.readLease(path),
  };
};

const hex = (ref: string | undefined): string | null => ref?.replace('sha256:', '') ?? null;
const namesIn = (dir: string): string[] => (existsSync(dir) ? readdirSync(dir) : []);

const recordsOf = async (world: World, stepKey: string): Promise<FoundRecord[]> => {
  const { transactions } = homePaths(world.home);
  const found: FoundRecord[] = [];
  for (const name of namesIn(join(transactions, stepKey))) {
    const record = openRecord(realSys, transactions, `${stepKey}/${name}`);
    const state = await record.load();
    if (state.plan === null) continue;
    const whole = async (ref: string): Promise<string[]> =>
      world.emend.blobs.get(ref as `sha256:${string}`).then(
        () => [ref.replace('sha256:', '')],
        () => [],
      );
    found.push({
      name,
      kind: state.plan.kind,
      proposalId: state.plan.proposalId,
      decision: state.plan.decision,
      open: isOpen(state),
      outcome: state.closed?.outcome ?? null,
      done: state.closed?.files ?? [],
      files: state.plan.files.map(({ path, base, result }) => ({
        path,
        base: hex(base?.ref),
        result: hex(result?.ref),
      })),
      saved: (await Promise.all((await record.saved()).map(({ ref }) => whole(ref)))).flat(),
    });
  }
  return found;
};

const readJson = (path: string): unknown => {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as unknown;
  } catch {
    return null;
  }
};
const slotsOf = async (world: World, stepKey: string): Promise<FoundSlot[]> => {
  // Without EMEND_STORE the home is the store, too.
  const { slots } = storePaths(world.home);
  const never = { stream: () => Promise.reject(new Error('nothing is asked here')), ready: () => null };
  const journal = createDiskJournal({ dir: slots, model: never, slotLease_ms: 1_000, heartbeat_ms: 1_000 });
  const calls = await journal.calls(stepKey);
  return namesIn(join(slots, stepKey)).flatMap((slot) => {
    const dir = join(slots, stepKey, slot);
    const record = readJson(join(dir, 'slot.json')) as SlotRecord | null;
    if (record === null) return [];
    const answered = readJson(join(dir, 'answer.json')) as AnswerRecord | null;
    return [
      {
        nonce: record.nonce,
        answeredAt: answered === null ? null : Date.parse(answered.at),
        calls: calls.filter((call) => call.slot === slot).map((call) => callIn(dir, call)),
      },
    ];
  });
};
/** Nothing is written to a call's log after its last event: the file's time is that event's. */
const callIn = (dir: string, { call, state }: JournaledCall): FoundCall => {
  const end = readJson(join(dir, `call-${call}.end.json`)) as EndRecord | null;
  const saidAt = end === null ? null : Date.parse(end.at);
  return {
    state,
    givenUpAt: end?.state === 'unknown' ? saidAt : null,
    endedAt: state === 'answered' ? statSync(join(dir, `call-${call}.events.jsonl`)).mtimeMs : saidAt,
  };
};

type HistoryEvents = NonNullable<Awaited<ReturnType<WorkflowHandle['fetchHistory']>>['events']>;

const historyOf = (world: World, run: ResolvedRun): Promise<HistoryEvents> =>
  withHandle(world, run, async (handle) => (await handle.fetchHistory()).events ?? []);
/**
 * A reset writes a failed task of its own, which names the run that it was made from; a task that news overtook is done again
 * (UnhandledCommand).
 */
const taskFailuresIn = (events: HistoryEvents): string[] =>
  events
    .map(({ workflowTaskFailedEventAttributes: failed }) => failed)
    .filter((failed) => failed != null && (failed.baseRunId ?? '') === '')
    .filter((failed) => failed?.failure?.message !== 'UnhandledCommand')
    .map((failed) => failed?.failure?.message ?? 'without a message');
const talliedIn = (events: HistoryEvents): number | null => {
  const tallies = events
    .filter(({ activityTaskScheduledEventAttributes: scheduled }) => scheduled?.activityType?.name === 'tally')
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

export const gatherStep = async (
  world: World,
  { planned, stepKey, status, rounds, pauses }: Carried,
): Promise<FoundStep | null> => {
  const run = stepKey === null ? null : await again(world, stepKey);
  if (stepKey === null || run === null) return null;
  const view = await askedOf(world, run);
  const entries = await world.emend.archive.read(stepKey);
  const archived = archivedRun(stepKey, entries);
  const history = await historyOf(world, run);
  const { carrier, kind } = planned;
  const deciders = entries.flatMap(({ kind: of, data }) =>
    of === 'decision' ? [(data as { request: { by: { name: string } } }).request.by.name] : [],
  );
  return {
    carrier: carrier.name,
    kind: kind.name,
    ends: kind.ends ?? ['committed'],
    workspace: carrier.workspace,
    paths: carrier.paths,
    base: carrier.base,
    wanted: carrier.wanted,
    stepKey,
    status,
    rounds,
    pauses,
    reset: kind.name.startsWith('reset'),
    result: view.status.result,
    ledger: view.ledger,
    events: await eventsOf(world, run),
    usage: view.status.usage,
    talliedAt: talliedIn(history),
    archived: {
      status: archived.closed?.status ?? null,
      outcome: archived.closed?.result?.outcome ?? null,
      commit: archived.closed?.result?.commit ?? null,
      files: archived.closed?.result?.files ?? [],
      deciders,
    },
    records: await recordsOf(world, stepKey),
    slots: await slotsOf(world, stepKey),
    taskFailures: taskFailuresIn(history),
  };
};

/** Requests with their bodies, from the file that the rehearsal kept. */
export const gatherRequests = (recordFile: string): FoundRequest[] =>
  lines(existsSync(recordFile) ? readFileSync(recordFile, 'utf8') : '')
    .map((line) => JSON.parse(line) as { n: number; at?: string; body?: string })
    .flatMap(({ n, at, body }) => (at === undefined || body === undefined ? [] : [{ n, at: Date.parse(at), body }]));
