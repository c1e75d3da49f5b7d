/** Names that client, workflow and worker share. */
export const WORKFLOWS = { editStep: 'editStep', plan: 'plan' } as const;
/** To a plan; the body is `{"by": "<name>"}` or nothing. They take effect between phases. */
export const PLAN_SIGNALS = {
  pause: 'pause',
  resume: 'resume',
  stop: 'stop',
  drift: 'drift',
  replan: 'replan',
} as const;
export const QUERIES = {
  status: 'status',
  ledger: 'ledger',
  events: 'events',
  proposal: 'proposal',
} as const;
/** Metadata of a payload that answers a query. */
export const QUERY_ANSWER = 'emend-query-answer';
export const SEARCH_ATTRIBUTES = {
  state: 'EmendState',
  reason: 'EmendReason',
  stepKey: 'EmendStepKey',
  workspace: 'EmendWorkspace',
  /** Id of the open decision. */
  decision: 'EmendDecision',
  /** Outcome of a run that has ended. */
  outcome: 'EmendOutcome',
} as const;

/** Task queues: workflows, model calls, and one per workspace host (◆ named by an id file, not by host name), which `commandQueueOf` follows. */
export type Queues = Readonly<Record<'workflow' | 'model' | 'host', string>>;
export const queueNames = (prefix: string, hostId: string): Queues => ({
  workflow: prefix,
  model: `${prefix}-model`,
  host: hostId === ANY_HOST ? `${prefix}-${ANY_HOST}` : `${prefix}-host-${hostId}`,
});
/** Returns the task queue of the commands of a host: tests, hooks, formatters, `worktree.setup`. It is next to the host's own queue. */
export const commandQueueOf = (hostQueue: string): string => `${hostQueue}-commands`;
/** In the place of a host's id: work that any host may do, on a repository. */
export const ANY_HOST = 'hosts';
/** Those of a run on a repository. At the dev server of a home there is one host. */
export const queuesOfAny = (queues: Queues): Queues =>
  queues.workflow === queues.host ? queues : queueNames(queues.workflow, ANY_HOST);
/** All that a run needs whose workflow is on `queue`. */
export const allQueues = (queue: string, hostId: string): readonly string[] =>
  queue.endsWith(`-host-${hostId}`)
    ? [queue]
    : Object.values<string>({ ...queueNames(queue, hostId) });
/** Of another host in the same group. */
export const hostQueueOf = ({ host }: Queues, hostId: string): string =>
  `${host.slice(0, host.lastIndexOf('-') + 1)}${hostId}`;
/** The home's id in the name of its queue, whose prefix a person may choose. */
export const hostOfQueue = (queue: string): string => queue.slice(queue.lastIndexOf('-') + 1);
/** The task queue that anybody starts a run on, unless workers and clients were given another one. */
const DEFAULT_QUEUE = 'emend';
/**
 * Task queues on which our workers find runs to begin: where all roles share one, also the queue of that prefix, for runs of other clients.
 */
export const workflowQueues = ({ workflow, host }: Queues): readonly string[] =>
  workflow === host ? [workflow, prefixOf(host)] : [workflow];
const prefixOf = (hostQueue: string): string => hostQueue.slice(0, hostQueue.lastIndexOf('-host-'));
/** The variables that decide the names of the queues. */
type QueueSettings = Readonly<Record<string, string | undefined>>;
/**
 * What clients start runs on and workers serve, with the prefix `EMEND_QUEUE`. All roles share the host's queue if `EMEND_ONE_QUEUE` is 1, and at the
 * dev server of this home (`own`), so that an activity begins with the answer to the task that asked for it. There queues that somebody
 * named stay three: each may have a worker of that program.
 */
export const queuesFor = (env: QueueSettings, hostId: string, own = false): Queues => {
  const { EMEND_QUEUE: named = '', EMEND_ONE_QUEUE: one = '' } = env;
  const queues = queueNames(named === '' ? DEFAULT_QUEUE : named, hostId);
  const isShared = one === '1' || (own && named === '');
  return isShared ? { workflow: queues.host, model: queues.host, host: queues.host } : queues;
};
/** What a worker may serve: a queue each. */
export const ROLES = ['workflows', 'model', 'hosts'] as const;
export type Role = (typeof ROLES)[number];
