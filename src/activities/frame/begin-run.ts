/**
 * Begins a run: reads the input as it was typed, finds the host that has the workspace, and returns all that the run goes by: its
 * limits, time-outs and rules also. A replay finds them in the history, so a later version of Emend may have other ones.
 */
import { posix } from 'node:path';
import {
  parseJob,
  readPlanInput,
  readStepInput,
  type JobStart,
  type PlanStart,
  type StartPlace,
  type StartSettings,
} from '../../documents/job/index.js';
import type {
  BeginRunInput,
  BeginRunResult,
  GroupFacts,
  LiveHost,
  WorkerGroup,
} from '../../shared/begin-run.js';
import { shownKey } from '../../shared/ids.js';
import { hostOfQueue, hostQueueOf, queuesOfAny, type Queues } from '../../shared/names.js';
import { branchOf } from '../../shared/repository.js';
import { sentence } from '../../shared/problems.js';
import { refusalOfName } from '../../shared/run-name.js';
import { currentRules } from '../../shared/rules.js';
import type { PlanSetup, RunSetup, StepSetup } from '../../shared/run.js';
import { isoTime } from '../../system/clock.js';
import { hideSecrets } from '../../system/secrets.js';
import type { Activity } from './activity.js';
import type { ActivityPorts } from './ports.js';

type Invalid = Extract<BeginRunResult, { outcome: 'invalid' }>;
const invalid = (message: string): Invalid => ({ outcome: 'invalid', message });

export const beginRun: Activity<'beginRun'> = async (ports, input, { owner }) => {
  const group = await ports.group.facts();
  const begin = input.kind === 'job' ? beginJob : beginPlan;
  const begun = await begin(ports, input, group);
  const shown =
    begun.outcome === 'begun'
      ? startOf(begun.setup)
      : { queues: group.queues, workspace: '', title: 'Invalid input', jobPath: '' };
  await noteStart(ports, input.stepKey, { ...owner, address: group.address, ...shown });
  return begun;
};

async function beginJob(
  ports: ActivityPorts,
  { stepKey, input }: BeginRunInput,
  group: GroupFacts,
): Promise<BeginRunResult> {
  const read = readStepInput(input);
  if (!read.ok) return invalid(read.message);
  const { job, pick, acceptedResult, follows, ...start } = read.value;
  const found = await jobSetup(ports, job);
  if ('outcome' in found) return found;
  const base = await baseSetup(ports, group, { stepKey, title: found.title, ...start });
  if ('outcome' in base) return base;
  const setup: StepSetup = {
    ...base,
    job: found.job,
    jobPath: found.jobPath,
    ...(pick ? { pick } : {}),
    ...(acceptedResult === null ? {} : { given: acceptedResult }),
    ...(follows === null ? {} : { follows }),
  };
  return { outcome: 'begun', setup };
}

async function beginPlan(
  ports: ActivityPorts,
  { stepKey, input }: BeginRunInput,
  group: GroupFacts,
): Promise<BeginRunResult> {
  const read = readPlanInput(input);
  if (!read.ok) return invalid(read.message);
  const { planPath, options, ...start } = read.value;
  const secret = secretInName('planFile', planPath);
  if (secret !== null) return secret;
  const title = posix.basename(planPath);
  const base = await baseSetup(ports, group, { stepKey, title, ...start });
  if ('outcome' in base) return base;
  return { outcome: 'begun', setup: await planSetup(ports, base, { planPath, options }) };
}

/** Adds where an earlier run of the plan ended. What that run left is on its branch. */
async function planSetup(
  { group }: ActivityPorts,
  base: RunSetup,
  { planPath, options }: Pick<PlanStart, 'planPath' | 'options'>,
): Promise<PlanSetup> {
  const { workspace, queues, repository } = base;
  const last = await group.lastCheckpoint({ workspace, planPath, queues, stepKey: base.stepKey });
  const continues = options.phase === null && !options.restart;
  const branch = (continues ? last?.branch : undefined) ?? branchOf(base.stepKey);
  return {
    ...base,
    planPath,
    options,
    ...(repository === undefined ? {} : { repository: { branch, ...repository } }),
    ...(last === null ? {} : { resumeFrom: last.step_key }),
  };
}

/** Stores the text of a job that is in no file. A job file is read by preflight, on the host that has it. */
async function jobSetup(
  { blobs }: Pick<ActivityPorts, 'blobs'>,
  job: JobStart['job'],
): Promise<(Pick<StepSetup, 'job' | 'jobPath'> & { readonly title: string }) | Invalid> {
  if (job.kind === 'file') {
    const secret = secretInName('jobFile', job.path);
    return secret ?? { job: null, jobPath: job.path, title: posix.basename(job.path) };
  }
  // The name and the title are in lists and histories.
  const shown = await hideSecrets(job.text);
  const parsed = parseJob(shown, job.name);
  const title = parsed.ok ? parsed.value.title : job.name;
  const ref = await blobs.put(new TextEncoder().encode(job.text));
  return { job: ref, jobPath: await hideSecrets(job.name), title };
}

const secretInName = (key: 'jobFile' | 'planFile', path: string): Invalid | null => {
  const refusal = refusalOfName(key === 'jobFile' ? 'job file' : 'plan', path);
  return refusal === null ? null : invalid(`\`${key}\`: ${sentence(refusal)}`);
};

interface Start {
  readonly stepKey: string;
  readonly title: string;
  readonly place: StartPlace;
  readonly settings: StartSettings;
}

/** Returns what every run goes by, or why its place cannot be found. */
async function baseSetup(
  { group, timings }: ActivityPorts,
  { queues: own, searchAttributes, page }: GroupFacts,
  { stepKey, title, place, settings }: Start,
): Promise<RunSetup | Invalid> {
  const queues = place.kind === 'repository' ? queuesOfAny(own) : await queuesOf(group, own, place);
  if ('outcome' in queues) return queues;
  const { overrides, approval, hints, configurationCommit } = settings;
  return {
    stepKey,
    title,
    ...(place.kind === 'repository'
      ? { workspace: place.repository.url, repository: place.repository }
      : { workspace: place.path }),
    queues,
    timings,
    rules: currentRules(),
    overrides,
    hints: await Promise.all(hints.map((hint) => hideSecrets(hint))),
    ...(approval === null ? {} : { approval }),
    ...(configurationCommit === null ? {} : { configurationCommit }),
    ...(page === null ? {} : { page }),
    searchAttributes,
  };
}

/**
 * Returns the queues of the host that has the workspace: the named host, else the only one that a worker serves. If no worker serves a host
 * (each has ended, or serves other roles alone), it is the only one that the store knows. ◆ Of several it must be named: the worker that reads
 * the input need not have the files, and a run that waits for the wrong host never finds them. A server without `ListWorkers` still lists
 * pollers; one that lists neither fails the call, which Temporal repeats.
 */
async function queuesOf(
  group: WorkerGroup,
  own: Queues,
  { host }: Extract<StartPlace, { kind: 'workspace' }>,
): Promise<Queues | Invalid> {
  // At the dev server of a home all roles share one queue, and only the home itself serves it.
  const isShared = own.workflow === own.host;
  if (isShared && host === null) return own;
  // The host may not have started a worker yet: the run waits for it.
  if (!isShared && host !== null && isHostId(host)) return { ...own, host: hostQueueOf(own, host) };
  const known = await group.hosts();
  const hosts = isShared ? known.filter(({ id }) => id === hostOfQueue(own.host)) : known;
  const live = hosts.filter(({ isLive }) => isLive);
  const unnamed = live.length > 0 ? live : hosts;
  const meant = host === null ? unnamed : hosts.filter((candidate) => isNamed(candidate, host));
  const [only, ...others] = meant;
  if (only !== undefined && others.length === 0) return { ...own, host: hostQueueOf(own, only.id) };
  const reason =
    live.length > 0
      ? `several hosts serve the task queue ${own.workflow}`
      : 'several hosts are known and no worker serves one of them now';
  const fault =
    host === null
      ? `expected the host that has the workspace, as ${reason}`
      : `${meant.length === 0 ? 'no host' : 'more than one host'} is called ${JSON.stringify(host)}`;
  return invalidHost(fault, hosts, only ?? hosts[0]);
}

function invalidHost(
  fault: string,
  hosts: readonly LiveHost[],
  { id: exampleId }: Pick<LiveHost, 'id'> = { id: '0a1b2c3d' },
): Invalid {
  const listed = hosts.map(
    ({ id, name, isLive }) => `${name} (${shownKey(id)}${isLive ? '' : ', no worker'})`,
  );
  const example = `{"workspace": "/repo", "host": "${shownKey(exampleId)}", "task": "…"}`;
  return invalid(`\`host\`: ${fault}. Hosts: ${listed.join(', ')}. Example: ${example}`);
}

const isHostId = (text: string): boolean => /^[0-9a-f]{32}$/.test(text);

const LEAST_HOST_DIGITS = 4; // bound: Least digits of a host's id that name it.

const isNamed = ({ id, name }: LiveHost, typed: string): boolean =>
  name === typed || (typed.length >= LEAST_HOST_DIGITS && id.startsWith(typed));

/** Returns by what lists name a run that has begun. */
function startOf(setup: StepSetup | PlanSetup): object {
  const { queues, workspace, title } = setup;
  const ofJob = 'jobPath' in setup;
  return {
    queues,
    workspace,
    title,
    jobPath: ofJob ? setup.jobPath : setup.planPath,
    ...(ofJob && setup.job !== null ? { job: setup.job } : {}),
    ...(ofJob && setup.follows !== undefined ? { follows: setup.follows } : {}),
  };
}

/**
 * Notes the run in the archive, also if its input does not fit. Commands find it there by its key, and without a server.
 */
const noteStart = (
  { archive, clock }: Pick<ActivityPorts, 'archive' | 'clock'>,
  stepKey: string,
  data: object,
): Promise<void> =>
  archive.append(stepKey, [{ id: 'started', at: isoTime(clock), kind: 'started', data }]);
