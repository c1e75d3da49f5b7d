import { EXIT, type ExitCode, ProblemError } from '../../shared/problems.js';
import type { Io, JsonFlag, QuietFlag } from '../io.js';
import { printFound } from '../json.js';
import { plain, table } from '../render/text.js';
import { createTemporalGateway } from '../../client/gateway.js';
import { fewProblems, groupProblems, listHosts, shownHost } from '../../client/runs/hosts.js';
import { PRICES } from '../../documents/job/index.js';
import { commandQueueOf, queuesFor } from '../../shared/names.js';
import { absentHome, hostId, mountsOfHome, resolveHome } from '../../stores/home.js';
import { openStores, resolveStore, storePaths } from '../../stores/location.js';
import { tryStore } from '../../stores/try-store.js';
import { orNull } from '../../system/durable.js';
import { ABSENT } from '../../system/given-file.js';
import { realSys } from '../../system/sys.js';
import { gitLine } from '../../workspace/git/index.js';
import type { Environment } from '../../system/environment.js';
import { kindOfFileSystem, mountWords } from '../../system/mount-table.js';
import { build, isAtLeast } from '../../system/version.js';
import { findTemporalCli } from '../../temporal/cli-binary.js';
import { connectClient, type ClientConnection } from '../../temporal/connection.js';
import { commandToSetCurrent, idleWorker, servingBuilds } from '../../temporal/deployment.js';
import { liveWorkers, noWorker, ofOtherStores, partsOf } from '../../temporal/live-workers.js';
import { resolveTimings } from '../../temporal/settings.js';
import type { Check } from '../json-types.js';
import { leftoversFinding, overlayFinding } from './doctor-layers.js';
import { programsFinding } from './doctor-programs.js';
import { sandboxFinding } from './doctor-sandbox.js';

type Finding = Omit<Check, 'name'>;
const good = (found: string, fix: string | null = null): Finding => ({ ok: true, found, fix });
const bad = (found: string, fix: string): Finding => ({ ok: false, found, fix });

const MINIMUM_NODE = '20.3';

/**
 * Runs every check, whatever the others found; `cwd` is in the workspace to try. Changes nothing but creating an absent EMEND_HOME and
 * fetching bubblewrap; what it writes into a shared store, or onto an overlay, is gone afterwards. Never throws.
 */
export const examine = async (
  env: Environment,
  cwd: string = process.cwd(),
): Promise<readonly Check[]> => {
  const absent = await absentHome(env).catch(() => null);
  const home = await resolveHome(env).catch((error: unknown) => error);
  const connect = async (at: string) =>
    connectClient({ env, home: at, connect_ms: resolveTimings(env).connect_ms });
  const server =
    typeof home === 'string' ? await connect(home).catch((error: unknown) => error) : home;
  const connection = isConnection(server) ? server : null;
  const atHome = (check: (path: string) => Promise<Finding>) =>
    typeof home === 'string' ? check(home) : explained(home);
  try {
    const unseen = { ...explained(server), found: 'not checked: no server' };
    const seen = connection && typeof home === 'string' ? look(connection, env, home) : null;
    const working = seen === null ? Promise.resolve(unseen) : seen.then(workers).catch(explained);
    const checks: readonly (readonly [string, () => Finding | Promise<Finding>])[] = [
      ['Node.js', nodeVersion],
      ['git', () => gitVersion(env, cwd)],
      ['programs', () => programsFinding(env, cwd)],
      [
        'EMEND_HOME',
        async () =>
          typeof home === 'string'
            ? homeFinding(home, absent === null && (await mayHaveRuns(env, home)))
            : explained(home),
      ],
      ['EMEND_STORE', () => (typeof home === 'string' ? store(env, home) : explained(home))],
      [
        'settings',
        () => good(`${Object.keys(resolveTimings(env)).length} timings, all within bounds`),
      ],
      ['Temporal CLI', () => temporalCli(env)],
      ['sandbox', () => sandboxFinding(env, cwd)],
      ['overlay', () => atHome((path) => overlayFinding(env, path, cwd))],
      ['layers', () => atHome((path) => leftoversFinding(env, path))],
      ['Temporal server', () => (connection ? reached(connection) : explained(server))],
      ['worker', () => working],
      ['build', () => seen?.then(builds) ?? unseen],
      ['hosts', () => seen?.then(group) ?? unseen],
      ['model', async () => model(env, await working)],
      ['prices', () => prices(Date.now())],
    ];
    return await Promise.all(
      checks.map(async ([name, check]) => {
        const finding = await Promise.resolve().then(check).catch(explained);
        return { name, ...finding };
      }),
    );
  } finally {
    await connection?.close();
  }
};

const nodeVersion = (): Finding =>
  isAtLeast(process.versions.node, MINIMUM_NODE)
    ? good(process.version)
    : bad(process.version, `Install Node.js ${MINIMUM_NODE} or newer: https://nodejs.org`);

const gitVersion = async (env: Environment, cwd: string): Promise<Finding> => {
  const asked = await gitLine(['--version'], { cwd, environment: env });
  return asked.ok
    ? good(asked.value)
    : bad(
        asked.problem.message,
        asked.problem.next ?? 'Install git, for example: apt-get install git, or: brew install git',
      );
};

/** Returns false if the archive of the home is empty. A bucket may hold runs of other homes. */
const mayHaveRuns = async (env: Environment, home: string): Promise<boolean> => {
  if ((env.EMEND_STORE ?? '') !== '') return true;
  const names = await orNull(realSys.readdir(storePaths(home).archive), ABSENT);
  return (names ?? []).length > 0;
};

const homeFinding = async (home: string, isUsed: boolean): Promise<Finding> => {
  const mounts = await mountsOfHome(home);
  const served = mounts.find((mount) => kindOfFileSystem(mount) === 'program');
  const found = isUsed ? home : `${home}: no runs yet`;
  if (served !== undefined)
    return good(
      `${found} (on ${mountWords(served)})`,
      'If that file system is reached over a network, set EMEND_HOME to a directory on a local disk.',
    );
  return good(found, isUsed ? null : 'Start one with: emend run -m "what to change"');
};

/** Workers and clients that belong together show the same id here. A store that homes share is tried. */
const store = async (env: Environment, home: string): Promise<Finding> => {
  const found = await resolveStore(env, home);
  const { dir, id, objects } = found;
  if (objects === null) return good(`in EMEND_HOME (id ${id.slice(0, 8)})`);
  const { ms, slow } = await tryStore(home, found);
  const fix = slow
    ? 'That is slow: a run makes some hundred writes. Use a store that is nearer.'
    : null;
  return good(`${dir} (id ${id.slice(0, 8)}), a write takes ${ms} ms`, fix);
};

const temporalCli = async (env: Environment): Promise<Finding> => {
  const cli = await findTemporalCli({ env, fetch: false });
  return good(`${cli.version} at ${cli.path} (${cli.from})`);
};

const isConnection = (value: unknown): value is ClientConnection =>
  typeof value === 'object' && value !== null && 'connection' in value;

const reached = ({ address, namespace, uiUrl }: ClientConnection): Finding =>
  good(`${address}, namespace ${namespace}${uiUrl === null ? '' : `, UI ${uiUrl}`}`);

/** Who serves the queues that runs of this home need. */
const look = async (at: ClientConnection, env: Environment, home: string) => {
  const queues = queuesFor(env, await hostId(home), at.own);
  const names = [...new Set<string>([...Object.values(queues), commandQueueOf(queues.host)])];
  const serving = await Promise.all(names.map((queue) => liveWorkers({ ...at, queue })));
  return { at, home, queues, names, serving, store: await resolveStore(env, home) };
};
type Seen = Awaited<ReturnType<typeof look>>;

/** Every run needs somebody at all its queues. */
const workers = ({ names, serving, store: { id } }: Seen): Finding => {
  const silent = names.filter((_, index) => serving[index]?.length === 0);
  if (silent.length > 0) return explained(new ProblemError(noWorker(silent)));
  const [stranger] = ofOtherStores(serving.flat(), id);
  return stranger === undefined
    ? good(`serves ${names.join(', ')}`)
    : bad(
        `${stranger} also serves them, but uses a different store than ${id.slice(0, 8)}`,
        'Give all workers of these queues the same EMEND_STORE, or this group a separate EMEND_QUEUE.',
      );
};

/** Workers of several builds serve side by side during a deploy; one that is given no runs stands in for nobody. */
const builds = async ({ at, queues, names, serving }: Seen): Promise<Finding> => {
  const toServe = await servingBuilds(at);
  const { current } = toServe;
  const found = [...new Set(serving.flat().flatMap((identity) => partsOf(identity).build ?? []))];
  // Host queues are in no version: a worker there gets its work whatever build is current.
  const versioned = [queues.workflow, queues.model];
  const idle = idleWorker(
    serving.filter((_, index) => versioned.includes(names[index] ?? '')).flat(),
    toServe,
  );
  if (idle !== undefined) {
    const { build: its, versioned: isVersioned } = partsOf(idle);
    return bad(
      `${idle} is given no runs: ${current === null ? 'no build' : `build ${current}`} is current`,
      `Stop it, or type: ${commandToSetCurrent(isVersioned ? its : null)}`,
    );
  }
  const mixed = found.length > 1 || (found[0] ?? build()) !== build();
  const fix = mixed
    ? 'Builds are mixed: end the deploy by stopping the workers of the older one.'
    : null;
  const which =
    current === null || queues.workflow === queues.host
      ? ''
      : `; build ${current} is current for ${versioned.join(', ')}; ${queues.host} has no versions`;
  return good(`${found.join(', ')}${which}${mixed ? `; this command is ${build()}` : ''}`, fix);
};

const NAMED_HOSTS = 10; // bound: Maximum number of hosts that `emend doctor` names; more are counted.
/** All hosts of the store: what one of them lacks, its runs wait for. */
const group = async ({ at, home, queues, store: found }: Seen): Promise<Finding> => {
  const { records } = await openStores(home, found);
  const runs = createTemporalGateway(at.client, at.connection, at.namespace);
  const { hosts } = await listHosts({ records, queues, runs });
  const problems = fewProblems(groupProblems(hosts));
  if (problems.length > 0)
    return bad(
      problems.map(({ message }) => message).join(' '),
      problems.map(({ next }) => next).join(' '),
    );
  const names = hosts.slice(0, NAMED_HOSTS).map(({ id, name }) => shownHost(id, name));
  if (hosts.length > NAMED_HOSTS) names.push(`and ${hosts.length - NAMED_HOSTS} more`);
  return good(hosts.length === 1 ? 'this one' : names.join(', '));
};

/** Only whether they are set: a key is never shown, not even in part. */
const model = (env: Environment, worker: Finding): Finding => {
  const baseUrl = env.ANTHROPIC_BASE_URL ?? '';
  const key = ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN'].find(
    (name) => (env[name] ?? '') !== '',
  );
  // It is the worker that asks, with what is set in its own terminal.
  if (key === undefined && baseUrl === '')
    return worker.ok
      ? good('no key in this terminal: the worker uses the one in its own environment')
      : bad('no key and no base URL', 'export ANTHROPIC_API_KEY=…');
  return good(
    `${key === undefined ? 'no key' : `${key} is set`}, ${baseUrl === '' ? 'api.anthropic.com' : hostOf(baseUrl)}`,
  );
};

const PRICES_OLD_DAYS = 90; // bound: Prices that were published longer ago may have changed.
/** Old prices hold up nothing. */
export const prices = (now_ms: number): Finding => {
  const days = Math.floor((now_ms - Date.parse(PRICES.date)) / 86_400_000);
  const fix = "Compare them with your provider's list; `models:` in emend.yaml overrides them.";
  return good(
    `${PRICES.source} of ${PRICES.date}, ${days} days old`,
    days > PRICES_OLD_DAYS ? fix : null,
  );
};

/** A base URL may carry a user and password. */
const hostOf = (url: string): string =>
  URL.canParse(url) ? new URL(url).host : 'ANTHROPIC_BASE_URL is not a URL';

const explained = (error: unknown): Finding =>
  error instanceof ProblemError
    ? bad(error.message, error.problem.next ?? 'See the message.')
    : bad(error instanceof Error ? error.message : String(error), 'See the message.');

type DoctorFlags = JsonFlag & QuietFlag & { readonly model?: string | true; readonly deep?: true };

/** Exit code 7 where something is missing: what a run needs is not there. */
export const doctor = async (
  io: Io,
  { model: asked, deep, ...flags }: DoctorFlags,
): Promise<ExitCode> => {
  if (asked !== undefined) return (await import('./doctor-model.js')).doctorModel(io, asked, flags);
  if (deep === true) return (await import('./doctor-deep.js')).doctorDeep(io, flags);
  const checks = await examine(io.env, io.cwd);
  const rows = table(
    checks.map((check) => [check.ok ? 'ok' : 'missing', check.name, plain(check.found)]),
  );
  const fixes = checks.map(({ fix }) =>
    fix === null ? [] : [`           ${io.colors.bold(plain(fix))}`],
  );
  const lines = rows.flatMap((row, index) => [row, ...(fixes[index] ?? [])]);
  printFound({ io, flags }, 'doctor', checks, lines);
  return checks.every((check) => check.ok) ? EXIT.done : EXIT.unavailable;
};
