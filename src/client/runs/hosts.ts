/** The hosts of a store: which home each is and how people read of it, who serves it, and the open runs whose files are there. */
import { ANY_HOST, hostOfQueue, hostQueueOf, ROLES, type Role } from '../../shared/names.js';
import { shownKey, type StepKey } from '../../shared/ids.js';
import type { StepStatus } from '../../shared/run.js';
import { problem, sentence, type Problem } from '../../shared/problems.js';
import { knownHosts } from '../../stores/home.js';
import { noWorker } from '../../temporal/live-workers.js';
import { ourRuns, type DescribedRun, type Emend } from '../types.js';

const LISTED_OPEN_RUNS = 100; // bound: Runs asked for their state (one action each) and shown; more are counted.
const HOST_SHOWN_DAYS = 7; // bound: A host that was not heard of for longer, and that no open run needs, is not shown.

/** A server may hold the runs of others: ours are those that our workers' queue takes. No action. */
export const openOnServer = async (
  emend: Pick<Emend, 'runs' | 'queues'>,
): Promise<readonly DescribedRun[]> => {
  const filter = `${ourRuns(emend)} AND ExecutionStatus = "Running"`;
  return (await emend.runs?.list(filter, LISTED_OPEN_RUNS)) ?? [];
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

export const hostOf = async ({ records, queues }: AtStore, id: string): Promise<RunHost> => {
  const known = await knownHosts(records);
  const ids = new Set([...known.keys(), hostOfQueue(queues.host), id]);
  return { id, name: ids.size === 1 ? null : shownHost(id, known.get(id)?.name) };
};

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
  const queues = silent.map((queue) => `${queue}${names.get(hostOfQueue(queue)) ?? ''}`);
  const away = named.filter(({ id }) => id !== hostOfQueue(emend.queues.host));
  const there = away.map(({ id, name }) => ` on ${name ?? ''}; ${ifLost(id)}`).join(';');
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
  /** Code of its live workers, where none lives of the last start. */
  readonly versions: readonly string[];
  /** Live workers that work as this host on different machines, or from copies of its home; empty: as it must be. */
  readonly doubles: readonly string[];
  /** ISO time, when a worker of its was heard last or started. */
  readonly seen: string;
  /** Open runs whose workspaces it has. */
  readonly runs: readonly StepKey[];
}

/** All that the store ever knew, but for those that gc removed. No action. */
export const allHosts = async (
  emend: AtStore & Pick<Emend, 'runs'>,
): Promise<readonly HostView[]> => {
  const { queues, runs, records } = emend;
  const own = hostOfQueue(queues.host);
  const [known, open] = await Promise.all([knownHosts(records), openOnServer(emend)]);
  const ids = [
    ...new Set([own, ...known.keys(), ...open.flatMap(({ memo }) => memo?.host ?? [])]),
  ].filter((id) => id !== ANY_HOST);
  const asked = new Set([
    queues.workflow,
    queues.model,
    ...ids.map((id) => hostQueueOf(queues, id)),
  ]);
  const workers = (await runs?.seenAt(queues.workflow, [...asked])) ?? [];
  return ids.map((id): HostView => {
    const all = workers.filter(({ host }) => host === shownKey(id));
    const live = all.filter(({ is }) => is === 'live');
    const { name = 'unknown', at = '', build } = known.get(id) ?? {};
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
      roles: ROLES.filter((role) => live.some((w) => w.queue === served[role])),
      versions: [...new Set(builds.flatMap((each) => each ?? []))],
      doubles:
        new Set(asHost.map(({ boot }) => boot)).size < 2 ? [] : asHost.map(({ said }) => said),
      seen: [at, ...all.map(({ seen_ms }) => new Date(seen_ms).toISOString())].sort().at(-1) ?? '',
      runs: open.flatMap(({ memo }) => (memo?.host === id ? memo.stepKey : [])),
    };
  });
};

/** This home first, then by name. A host that was not heard of for a week and that no run needs is left out. No action. */
export const listHosts = async (
  emend: AtStore & Pick<Emend, 'runs'>,
): Promise<readonly HostView[]> => {
  const since = new Date(Date.now() - HOST_SHOWN_DAYS * 86_400_000).toISOString();
  return (await allHosts(emend))
    .filter(({ here, roles, runs, seen }) => here || runs.length + roles.length > 0 || seen > since)
    .sort((a, b) => Number(b.here) - Number(a.here) || a.name.localeCompare(b.name));
};

/** What is wrong with the group: hosts that work twice, and those that open runs need and nobody serves. */
export const groupProblems = (hosts: readonly HostView[]): readonly Problem[] =>
  hosts.flatMap(({ id, name, here, roles, doubles, runs, seen }) => {
    const shown = shownHost(id, name);
    if (doubles.length > 0)
      return problem(
        'conflict',
        `Workers on different machines or from copies of its home work as host ${shown}: ${doubles.join('; ')}.`,
        'Stop all but one of them, and give each machine a home of its own (EMEND_HOME).',
      );
    if (runs.length === 0 || roles.includes('hosts')) return [];
    const message = `No worker serves host ${shown}, last seen ${seen}; open runs that need it: ${runs.length}.`;
    return problem(
      'no_worker',
      message,
      `Start one: \`emend worker\`${here ? '' : ` there; ${ifLost(id)}`}.`,
    );
  });
