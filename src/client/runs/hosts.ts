/** The hosts of a store: which home each is and how people read of it, who serves it, and the open runs whose files are there. */
import {
  ANY_HOST,
  hostOfQueue,
  hostQueueOf,
  ROLES,
  SEARCH_ATTRIBUTES,
  type Queues,
  type Role,
} from '../../shared/names.js';
import { shownKey, type StepKey } from '../../shared/ids.js';
import type { StepStatus } from '../../shared/run.js';
import { problem, sentence, type Problem } from '../../shared/problems.js';
import { knownHosts, type HostStart } from '../../stores/hosts.js';
import { noWorker, type SeenWorker } from '../../temporal/live-workers.js';
import { ourRuns, type DescribedRun, type Emend } from '../types.js';

const READ_OPEN_RUNS = 10_000; // bound: Maximum number of open runs that a list reads, a call for each 1,000 of them; more are counted.
const SILENT_NAMED = 5; // bound: Maximum number of task queues without a worker that a message names; more are counted.
const HOST_SHOWN_DAYS = 7; // bound: A host that was not heard of for longer, and that no open run needs, is not shown.

/** Open runs, newest first. */
export interface OpenRuns {
  readonly runs: readonly DescribedRun[];
  /** Number of older ones, which were not read. */
  readonly unread: number;
}

/** Reads the open runs of this group. A server may also hold the runs of others: ours are those that our workers' queue takes. No action. */
export const openOnServer = async (
  emend: Pick<Emend, 'runs' | 'queues'>,
  limit = READ_OPEN_RUNS,
): Promise<OpenRuns> => {
  if (emend.runs === null) return { runs: [], unread: 0 };
  const filter = `${ourRuns(emend)} AND ExecutionStatus = "Running"`;
  const runs = await emend.runs.list(filter, limit);
  const total = runs.length < limit ? runs.length : await emend.runs.count(filter);
  return { runs, unread: Math.max(0, total - runs.length) };
};

/** Reads the open runs that wait, newest first. Where the namespace has no search attributes there is no such list, and it is empty. No action. */
const waitingOnServer = async (
  { runs, ...emend }: Pick<Emend, 'runs' | 'queues'>,
  limit: number,
): Promise<readonly DescribedRun[]> => {
  const waiting = `${SEARCH_ATTRIBUTES.state} = "waiting"`;
  const filter = `${ourRuns(emend)} AND ExecutionStatus = "Running" AND ${waiting}`;
  return (await runs?.list(filter, limit).catch(() => null)) ?? [];
};

/** Reads the newest open runs, and of the older ones those that wait. No action. */
export const newestAndWaiting = async (
  emend: Pick<Emend, 'runs' | 'queues'>,
  limit: number,
): Promise<OpenRuns> => {
  const newest = await openOnServer(emend, limit);
  if (newest.unread === 0) return newest;
  const known = new Set(newest.runs.map(({ runId }) => runId));
  const waiting = await waitingOnServer(emend, limit);
  const older = waiting.filter(({ runId }) => !known.has(runId));
  return { runs: [...newest.runs, ...older], unread: newest.unread - older.length };
};

/** The host of a run's workspace. */
export interface RunHost {
  readonly id: string;
  /** As people read it, `NAME (first 8 digits)`. Null: it is this home's own, and the store knows no other; a person with one host reads of none. */
  readonly name: string | null;
}
type AtStore = Pick<Emend, 'records' | 'queues'>;
const ifLost = (id: string): string =>
  `if it is lost, in a new home: emend hosts adopt ${shownKey(id)}`;
export const shownHost = (id: string, name = 'unknown'): string => `${name} (${shownKey(id)})`;

/** Reads the names of all hosts, once for however many runs. */
export const hostNames = async ({ records, queues }: AtStore): Promise<(id: string) => RunHost> => {
  const known = await knownHosts(records);
  const own = hostOfQueue(queues.host);
  return (id) => {
    const isOnly = new Set([...known.keys(), own, id]).size === 1;
    return { id, name: isOnly ? null : shownHost(id, known.get(id)?.name) };
  };
};
export const hostOf = async (emend: AtStore, id: string): Promise<RunHost> =>
  (await hostNames(emend))(id);

/** Null: not known, or any host may do its work. */
export const runHost = async (emend: AtStore, run: DescribedRun | null): Promise<RunHost | null> =>
  run?.memo && run.memo.host !== ANY_HOST ? hostOf(emend, run.memo.host) : null;

/** What to say of queues that no worker serves. `hosts`: of runs that need them. `command`: what starts a worker of theirs. */
export const silentNote = (
  emend: Pick<Emend, 'queues'>,
  silent: readonly string[],
  hosts: readonly RunHost[],
  command = 'emend worker',
): string => {
  const named = hosts.filter(
    ({ id, name }) => name !== null && silent.some((queue) => hostOfQueue(queue) === id),
  );
  const names = new Map(named.map(({ id, name }) => [id, ` (host ${name ?? ''})`]));
  const queues = silent
    .slice(0, SILENT_NAMED)
    .map((queue) => `${queue}${names.get(hostOfQueue(queue)) ?? ''}`);
  if (silent.length > SILENT_NAMED)
    queues.push(`and ${silent.length - SILENT_NAMED} more (see \`emend hosts\`)`);
  const away = named.filter(({ id }) => id !== hostOfQueue(emend.queues.host));
  const there = away
    .slice(0, SILENT_NAMED)
    .map(({ id, name }) => ` on ${name ?? ''}; ${ifLost(id)}`)
    .join(';');
  return sentence(noWorker(queues, `\`${command}\`${there}`));
};

/** A run cannot tell how its host is called: a decision on that names it here. */
export const aboutHost = (status: StepStatus, host: RunHost | null): StepStatus => {
  const { decision } = status;
  if (decision?.reason !== 'workspace_unreachable' || host?.name == null) return status;
  const copied = decision.accepts.includes('move') ? '; with a copy of its files: emend move' : '';
  return {
    ...status,
    decision: { ...decision, subject: `host ${host.name}; ${ifLost(host.id)}${copied}` },
  };
};

export interface HostView {
  readonly id: string;
  readonly name: string;
  /** It is the home that asks. */
  readonly here: boolean;
  /** What its live workers serve; empty: none lives. */
  readonly roles: readonly Role[];
  /** False: nobody knows whether a worker lives, since the server takes no beats and there are too many hosts to ask for polls. */
  readonly checked: boolean;
  /** Code of its live workers, where none lives of the last start. */
  readonly versions: readonly string[];
  /** Live workers that work as this host on different machines, or from copies of its home; empty: as it must be. */
  readonly doubles: readonly string[];
  /** ISO time, when a worker of its was heard last or started. */
  readonly seen: string;
  /** Open runs whose workspaces it has. */
  readonly runs: readonly StepKey[];
}

/** The hosts of a store, and how far their open runs were read. */
export interface HostGroup {
  readonly hosts: readonly HostView[];
  /** Number of open runs that were not read, so that no host is shown to have them. */
  readonly unread: number;
}

/**
 * Reports the hosts that the store ever knew, except those that gc removed. `all`: every one of them may be needed, and none is shown with
 * open runs; else those that open runs need. It costs a list of workers and a few calls, however many hosts there are. No action.
 */
export const allHosts = async (
  emend: AtStore & Pick<Emend, 'runs'>,
  { all = false }: { readonly all?: boolean } = {},
): Promise<HostGroup> => {
  const { queues, runs, records } = emend;
  const own = hostOfQueue(queues.host);
  const [known, open] = await Promise.all([
    knownHosts(records),
    all ? { runs: [], unread: 0 } : openOnServer(emend),
  ]);
  const runsAt = groupBy(
    open.runs.flatMap(({ memo }) => (memo === null || memo.host === ANY_HOST ? [] : [memo])),
    ({ host }) => host,
  );
  const ids = [...new Set([own, ...runsAt.keys(), ...known.keys()])];
  const queuesOf = (hosts: readonly string[]) => hosts.map((id) => hostQueueOf(queues, id));
  const isNeeded = (id: string): boolean => all || id === own || runsAt.has(id);
  const needed = [...new Set([queues.workflow, queues.model, ...queuesOf(ids.filter(isNeeded))])];
  const others = queuesOf(ids.filter((id) => !isNeeded(id)));
  const seen = await runs?.seenAt(queues.workflow, needed, others);
  const group = new Set([...needed, ...others]);
  const workersAt = groupBy(
    (seen?.workers ?? []).filter(({ queue }) => group.has(queue)),
    ({ host }) => host ?? '',
  );
  const hosts = ids.map((id) =>
    viewOf({
      id,
      own,
      queues,
      start: known.get(id),
      workers: workersAt.get(shownKey(id)) ?? [],
      runs: (runsAt.get(id) ?? []).map(({ stepKey }) => stepKey),
      checked: seen?.unasked.includes(hostQueueOf(queues, id)) !== true,
    }),
  );
  return { hosts, unread: open.unread };
};

const groupBy = <T>(items: readonly T[], keyOf: (item: T) => string): Map<string, readonly T[]> => {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item)) ?? [];
    group.push(item);
    groups.set(keyOf(item), group);
  }
  return groups;
};

/** What is known of one host. */
interface HostFacts extends Pick<HostView, 'id' | 'runs' | 'checked'> {
  readonly own: string;
  readonly queues: Queues;
  readonly start: Partial<HostStart> | undefined;
  readonly workers: readonly SeenWorker[];
}

const viewOf = ({ id, own, queues, start, workers, runs, checked }: HostFacts): HostView => {
  const live = workers.filter(({ is }) => is === 'live');
  const { name = 'unknown', at = '', build } = start ?? {};
  const served = {
    workflows: queues.workflow,
    model: queues.model,
    hosts: hostQueueOf(queues, id),
  };
  const asHost = live.filter((worker) => worker.queue === served.hosts);
  const builds = live.length === 0 ? [build] : live.map((worker) => worker.build);
  return {
    id,
    name,
    here: id === own,
    roles: ROLES.filter((role) => live.some((worker) => worker.queue === served[role])),
    checked,
    versions: [...new Set(builds.flatMap((each) => each ?? []))],
    doubles: new Set(asHost.map(({ boot }) => boot)).size < 2 ? [] : asHost.map(({ said }) => said),
    seen:
      [at, ...workers.map(({ seen_ms }) => new Date(seen_ms).toISOString())].sort().at(-1) ?? '',
    runs,
  };
};

/** This home first, then by name. A host that was not heard of for a week and that no run needs is left out. No action. */
export const listHosts = async (emend: AtStore & Pick<Emend, 'runs'>): Promise<HostGroup> => {
  const since = new Date(Date.now() - HOST_SHOWN_DAYS * 86_400_000).toISOString();
  const { hosts, unread } = await allHosts(emend);
  const shown = hosts
    .filter(({ here, roles, runs, seen }) => here || runs.length + roles.length > 0 || seen > since)
    .sort((a, b) => Number(b.here) - Number(a.here) || a.name.localeCompare(b.name));
  return { hosts: shown, unread };
};

const NAMED_PROBLEMS = 5; // bound: Maximum number of hosts in trouble that a message names; more are counted.
/** Returns the first problems, and one sentence that counts the rest. */
export const fewProblems = (problems: readonly Problem[]): readonly Problem[] => {
  const rest = problems.length - NAMED_PROBLEMS;
  if (rest <= 0) return problems;
  const more = problem(
    'no_worker',
    `The same is true of ${rest} more hosts.`,
    'See `emend hosts`.',
  );
  return [...problems.slice(0, NAMED_PROBLEMS), more];
};

/** What is wrong with the group: hosts that work twice, and those that open runs need and nobody serves. */
export const groupProblems = (hosts: readonly HostView[]): readonly Problem[] =>
  hosts.flatMap(({ id, name, here, roles, checked, doubles, runs, seen }) => {
    const shown = shownHost(id, name);
    if (doubles.length > 0)
      return problem(
        'conflict',
        `Workers on different machines or from copies of its home work as host ${shown}: ${doubles.join('; ')}.`,
        'Stop all but one of them, and give each machine a home of its own (EMEND_HOME).',
      );
    if (runs.length === 0 || !checked || roles.includes('hosts')) return [];
    const message = `No worker serves host ${shown}, last seen ${seen}; open runs that need it: ${runs.length}.`;
    return problem(
      'no_worker',
      message,
      `Start one: \`emend worker\`${here ? '' : ` there; ${ifLost(id)}`}.`,
    );
  });
