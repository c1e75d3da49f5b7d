/** The one place that names adapters: what activities work with, on this machine's disk and in the store. */
import type { Logger } from 'pino';
import { createEditRunner, withPlanLog, type ActivityPorts } from '../activities/index.js';
import type { EndedRuns } from '../client/ended/runs.js';
import { createCallJournal } from '../model/journal/index.js';
import { createAnthropicModel } from '../model/index.js';
import { hostId } from '../stores/home.js';
import type { Machine } from '../stores/hosts.js';
import { guardHome } from '../stores/guard-home.js';
import { openStores, storePaths, type Store } from '../stores/location.js';
import type { CallJournal } from '../model/ports.js';
import type { Timings } from '../shared/limits.js';
import type { Stores } from '../stores/ports.js';
import { repeatedCalls } from '../stores/restored.js';
import { systemClock } from '../system/clock.js';
import { realSys, type Sys } from '../system/sys.js';
import { ownAddresses } from '../temporal/own-addresses.js';
import { resolveTimings } from '../temporal/settings.js';
import { createApplyEngine, createLocks } from '../workspace/apply/index.js';
import { createLocalRunner } from '../workspace/commands/index.js';
import { createLayers } from '../workspace/layers/index.js';
import { createTrust } from '../workspace/trust/index.js';
import type { WorkspaceLock } from '../workspace/ports.js';
import { createCheckouts } from '../workspace/checkout/index.js';
import { createRepository } from '../workspace/landing/repository.js';
import { idsOfActivity } from './log.js';

export interface PortsOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** EMEND_HOME, absolute. */
  readonly home: string;
  readonly logger: Logger;
  /** Below everything durable; a test's may fail. */
  readonly sys?: Sys;
  /** Default: the one that this is. */
  readonly machine?: Machine;
}

/** `runs`: who is asked about other runs. */
export async function createPorts(
  { env, home, logger, sys: system = realSys }: PortsOptions,
  store: Store,
  runs: Pick<EndedRuns, 'stateOfHolder' | 'endOf' | 'group'>,
) {
  const timings = resolveTimings(env);
  const guard = await guardHome(home, store, system);
  const { sys } = guard;
  const { blobs, records, archive: plain, calls } = await openStores(home, store, sys);
  const archive = withPlanLog(plain, storePaths(home).planLog);
  const clock = systemClock;
  const journal = createJournal(
    { env, home, sys, timings, usesBucket: store.objects !== null },
    { calls, archive },
  );
  const trust = createTrust({ home, sys });
  const commands = createLocalRunner(env, {
    beforeWriting: (workspace) => trust.recordBeforeCommand(workspace),
    hidden: [home],
    ownServers: () => ownAddresses(env, home),
  });
  const engine = createApplyEngine({
    home,
    blobs,
    sys,
    locks: createLocks({ home, sys, clock }),
    runs: { stateOfHolder: runs.stateOfHolder, tookOver: warnOfTakeOver(logger) },
  });
  const layers = createLayers({ home, blobs, commands });
  const ofRepository = { home, blobs, engine, commands, layers, sys };
  const repository = createRepository(ofRepository);
  return {
    checkHome: () => guard.check(),
    blobs,
    records,
    archive,
    journal,
    workspace: engine,
    repository,
    checkouts: createCheckouts({ home, host: await hostId(home), blobs }, engine, repository),
    commands,
    layers,
    trust,
    edits: createEditRunner(),
    clock,
    timings,
    logger,
    group: runs.group,
    endOf: (workflowId, wait_ms, signal) => runs.endOf(workflowId, wait_ms, signal),
  } satisfies ActivityPorts;
}

interface JournalSettings extends Required<Pick<PortsOptions, 'env' | 'home' | 'sys'>> {
  readonly timings: Timings;
  readonly usesBucket: boolean;
}

const createJournal = (
  { env, home, sys, timings, usesBucket }: JournalSettings,
  { calls, archive }: Pick<Stores, 'calls' | 'archive'>,
): CallJournal => {
  const { callOwner_ms, streamIdle_ms } = timings;
  const model = createAnthropicModel({ env, streamIdle_ms });
  const common = { calls, model, callOwner_ms, sys, clock: systemClock };
  // A bucket was not restored with the home: its journal knows every call.
  return usesBucket
    ? createCallJournal(common)
    : createCallJournal({ ...common, mayRepeat: repeatedCalls({ home, archive }, sys) });
};

const warnOfTakeOver =
  (logger: Logger) =>
  (workspace: string, { stepKey }: WorkspaceLock, because: string): void =>
    logger.warn({ ...idsOfActivity(), because, workspace, holder: stepKey }, 'took over a lock');
