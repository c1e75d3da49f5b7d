/** Temporal's dev server on this machine: `temporal server start-dev` on the loopback address, recorded in EMEND_HOME while it runs. */
import { existsSync } from 'node:fs';
import { mkdir, open, readFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { spawn, type ChildProcess } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import { createServer } from 'node:net';
import { fail } from '../shared/problems.js';
import { shellWord } from '../shared/text.js';
import type { TemporalCli } from './cli-binary.js';
import { endProcess } from '../system/end-process.js';
import { isAlive, ownProcess, processOf, type ProcessIdentity } from '../system/process.js';
import { signalGroup } from '../system/capture.js';
import { ownEnvironment } from '../system/programs.js';
import { listensAt } from '../system/listening.js';
import { putFileIfAbsent, removePut } from '../system/durable.js';
import { realSys } from '../system/sys.js';
import {
  claimRecord,
  readRecord,
  alreadyRunning,
  removeRecord,
  replaceRecord,
  type DevServerRecord,
} from './dev-record.js';
import { attributeFlags } from './search-attributes.js';

const DEV_READY_MS = 60_000; // bound: A dev server serves within this time,
const DEV_STOP_MS = 10_000; // bound: and stops within this before it is killed.
const DEV_STARTS = 3; // bound: Starts tried, as ports found free may be taken the moment after.

// Free TCP ports on the loopback address. A port found free may be taken the next moment: callers try again with another.

const LOOPBACK = '127.0.0.1';

export const freePort = async (wanted: number, host = LOOPBACK): Promise<number> => {
  for (let port = await listenOnce(wanted, host); ; port = await listenOnce(0, host))
    if (port !== null) return port;
};

/** Null when the port is taken. */
const listenOnce = (wanted: number, host: string): Promise<number | null> =>
  new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(null));
    server.listen(wanted, host, () => {
      const address = server.address();
      const port = typeof address === 'object' && address !== null ? address.port : null;
      server.close(() => resolve(port));
    });
  });

// The dev server's database remembers which CLI made it: its schema is never migrated, so another version would misread it or
// refuse it with an error that nobody understands.

const noteOf = (dbFile: string): string => `${dbFile}.cli-version`;

/** Notes the version beside a new database; throws ProblemError `cli_version` for one that another version, or nobody knows which, made. */
export const checkDatabase = async (
  dbFile: string,
  cli: TemporalCli,
  sys = realSys,
): Promise<void> => {
  const folder = dirname(dbFile);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const noted = (await readFile(noteOf(dbFile), 'utf8').catch(() => '')).trim();
  if (!existsSync(dbFile)) {
    // Durably, and never half: a torn note would be taken for another version.
    await removePut(sys, noteOf(dbFile));
    await putFileIfAbsent(sys, noteOf(dbFile), Buffer.from(`${cli.version}\n`));
    return;
  }
  const afresh = (name: string): string =>
    `start over (open runs are lost, archives are kept): mv '${folder}' '${folder}-${name}'`;
  // The note is on disk before the server makes a database: one without it was made or brought here by somebody else.
  if (noted === '') {
    fail(
      'cli_version',
      `${dbFile} does not record which Temporal CLI created it; the one found (${cli.path}, ${cli.from}) is ${cli.version}.`,
      `If that version created it: echo ${cli.version} > '${noteOf(dbFile)}'. Else ${afresh('unknown')}`,
    );
  }
  if (noted !== cli.version) {
    fail(
      'cli_version',
      `${dbFile} was created by Temporal CLI ${noted}, but the one found (${cli.path}, ${cli.from}) is ${cli.version}.`,
      `Set EMEND_TEMPORAL_CLI to a Temporal CLI ${noted}, or ${afresh(noted)}`,
    );
  }
};

export interface DevServerOptions {
  /** EMEND_HOME, absolute: one server a home. */
  readonly home: string;
  readonly cli: TemporalCli;
  /** A fixed port; 0: any free one; without it that of the server that was left behind, else 7233; a free one where it is taken. */
  readonly port?: number;
  /** Serve the Temporal UI even where it cannot be hidden from web pages (see `uiHost`). */
  readonly ui?: boolean;
  readonly metricsPort?: number;
  /** SQLite file, absolute, in a folder that holds nothing else (it comes with -wal, -shm and a note); null: in memory. */
  readonly dbFile: string | null;
  /** The server's output is appended here. */
  readonly logFile: string;
  /** Is told of a server that was left behind and ended. */
  readonly log?: (text: string) => void;
}

export interface DevServer extends Pick<DevServerRecord, 'address' | 'hiddenUi'> {
  readonly pid: number;
  /** Ends the server: SIGTERM, SIGKILL after `grace_ms`. Idempotent. */
  stop(grace_ms?: number): Promise<void>;
}

const DEFAULT_PORT = 7233;
const SERVES = /^(Temporal )?Server: /m; // The CLI prints it (1.9.1 with "Temporal") once all of its ports are bound.

/**
 * The Temporal UI checks no Host, so a page of a rebound name that reaches its port can approve. Linux answers on all of 127.0.0.0/8:
 * there it listens at a random one of these 16 million addresses. Elsewhere there is only 127.0.0.1, and it is not served unless `wanted`.
 */
export const uiHost = (wanted = false, platform: string = process.platform): string | null => {
  if (platform === 'linux')
    return `127.${randomInt(1, 255)}.${randomInt(0, 256)}.${randomInt(1, 255)}`;
  return wanted ? LOOPBACK : null;
};

/**
 * Starts a server and returns once it answers. It runs in a process group of its own, so that Ctrl-C in a terminal reaches the worker
 * first and the server outlives it, and it does not keep the calling process alive.
 * Throws ProblemError: `usage` (a server of this home runs already), `cli_version` (the database is another CLI's), `no_server` (did
 * not start; the message holds the end of its log).
 */
export const startDevServer = async (options: DevServerOptions): Promise<DevServer> => {
  const self = await ownProcess(realSys);
  const claim = {
    state: 'starting',
    process: self,
    owner: self,
    address: '',
    clusterId: null,
    hiddenUi: null,
  } as const;
  const left = await endLeftBehind(options);
  const holder = await claimRecord(options.home, claim);
  if (holder) return fail('usage', ...alreadyRunning(options.home, holder));
  try {
    if (options.dbFile !== null) await checkDatabase(options.dbFile, options.cli);
    return await startUnderClaim(options, claim, left);
  } catch (error) {
    await removeRecord(options.home, self);
    throw error;
  }
};

/**
 * Ends the server of this home whose starter was killed; its port, so that whoever speaks to it finds the next one there. Two that start at
 * once both end it, and the claim is one's.
 */
const endLeftBehind = async ({ home, log }: DevServerOptions): Promise<number> => {
  const record = await readRecord(home);
  if (record?.owner === undefined || (await isAlive(realSys, record.owner))) return DEFAULT_PORT;
  if (!(await isAlive(realSys, record.process))) return DEFAULT_PORT;
  await stopDevServer(home, record.process);
  log?.(
    `Stopped the Temporal server (pid ${record.process.pid}) left behind by a killed \`emend dev\`; the new one continues its runs.`,
  );
  return Number(record.address.split(':')[1] ?? DEFAULT_PORT);
};

type UiPlace = { readonly host: string; readonly port: string } | null;
const isOurChoice = (wanted: number | undefined): wanted is 0 | undefined =>
  wanted === undefined || wanted === 0;
const startUnderClaim = async (
  options: DevServerOptions,
  claim: DevServerRecord,
  usualPort: number,
): Promise<DevServer> => {
  for (let attempt = 1; ; attempt++) {
    const port = isOurChoice(options.port)
      ? await freePort(options.port ?? usualPort)
      : options.port;
    const host = uiHost(options.ui);
    const ui = host === null ? null : { host, port: String(await freePort(0, host)) };
    const address = `${LOOPBACK}:${port}`;
    const logStart = (await stat(options.logFile).catch(() => null))?.size ?? 0;
    const readLog = async () =>
      (await readFile(options.logFile)).subarray(logStart).toString('utf8').trim();
    const child = await launch(options, port, ui);
    const server = await recordWhenReady(options, claim, { child, address, ui, readLog });
    if (server !== null) return server;
    const log = await readLog();
    if (/address already in use/i.test(log) && attempt < DEV_STARTS) continue;
    const damage = DAMAGE.exec(log)?.[0];
    if (damage !== undefined && options.dbFile !== null)
      return failDamaged(options.dbFile, damage, options.logFile);
    return fail(
      'no_server',
      `The dev server (${options.cli.path}) did not start at ${address}: ${lastLines(CRASH.exec(log)?.[0] ?? log)}`,
      `See ${options.logFile}.`,
    );
  }
};

/** As SQLite reports a file that is no database, or one that lacks pages or tables. */
const DAMAGE = /file is not a database|database disk image is malformed|no such table: \w+/i;

const failDamaged = (dbFile: string, damage: string, logFile: string): never => {
  const folder = dirname(dbFile);
  const aside = `${folder}-damaged-${new Date().toISOString().replaceAll(/\D/g, '').slice(0, 14)}`;
  return fail(
    'no_server',
    `The database of the dev server, ${dbFile}, is damaged (${damage}), so the server did not start. Its log is ${logFile}.`,
    `Restore the file from a backup, or move it away: mv ${shellWord(folder)} ${shellWord(aside)}. Without it, open runs are lost; the archive of all runs and the files in the workspaces are kept. Then start the server again and type \`emend recover\`: it shows what the lost runs left.`,
  );
};

interface Launch {
  readonly child: ChildProcess;
  readonly address: string;
  readonly ui: UiPlace;
  /** Reads what this child has written to the log file. */
  readonly readLog: () => Promise<string>;
}

/** Records the server, and returns it once it serves. Null: it does not start, and the record is the claim again. */
const recordWhenReady = async (
  options: DevServerOptions,
  claim: DevServerRecord,
  { child, address, ui, readLog }: Launch,
): Promise<DevServer | null> => {
  const server = child.pid === undefined ? null : await processOf(realSys, child.pid);
  if (server === null) return null;
  // From here the record names the server. If this process is killed now, the next one starts no second server on its database.
  const hiddenUi = ui === null ? null : `http://${ui.host}:${ui.port}`;
  const record: DevServerRecord = { ...claim, process: server, address, hiddenUi };
  await replaceRecord(options.home, record);
  const clusterId = await ready(address, child, readLog);
  if (clusterId === null) {
    await endProcess(server, DEV_STOP_MS);
    await replaceRecord(options.home, claim);
    return null;
  }
  if ((await listensAt(realSys, server.pid, address)) === 'no')
    return refuseWrapper(options, claim, child);
  await replaceRecord(options.home, { ...record, state: 'serving', clusterId });
  const stop = (grace_ms?: number): Promise<void> => stopDevServer(options.home, server, grace_ms);
  return { address, hiddenUi, pid: server.pid, stop };
};

/** Refuses a CLI that starts the server as a child: clients use a recorded server only if its own process listens (own-server.ts). */
const refuseWrapper = async (
  { cli, home }: DevServerOptions,
  claim: DevServerRecord,
  child: ChildProcess,
): Promise<never> => {
  signalGroup(child, 'SIGKILL');
  await replaceRecord(home, claim);
  return fail(
    'no_server',
    `${cli.path} starts the Temporal CLI as another process, so the dev server cannot be recognized by its own.`,
    'Set EMEND_TEMPORAL_CLI to the Temporal CLI itself, or have the script replace itself: exec temporal "$@"',
  );
};

/** Ends the server of a home by its identity and takes its record away. */
export const stopDevServer = async (
  home: string,
  server: ProcessIdentity,
  grace_ms: number = DEV_STOP_MS,
): Promise<void> => {
  const end = await endProcess(server, grace_ms);
  if (end === 'still running')
    fail('internal', `The dev server (pid ${server.pid}) does not stop.`, `kill -9 ${server.pid}`);
  await removeRecord(home, server);
};

const launch = async (
  options: DevServerOptions,
  port: number,
  ui: UiPlace,
): Promise<ChildProcess> => {
  await mkdir(dirname(options.logFile), { recursive: true });
  const log = await open(options.logFile, 'a', 0o600);
  try {
    const child = spawn(options.cli.path, serverArguments(options, port, ui), {
      // A file, not a pipe: a server that outlives its starter must not die of writing.
      stdio: ['ignore', log.fd, log.fd],
      detached: true,
      env: ownEnvironment(process.env),
    });
    child.unref();
    // Not started at all (no such file, not executable): `ready` sees no pid or an exit; the event only must not be unheard.
    child.on('error', () => undefined);
    return child;
  } finally {
    await log.close();
  }
};

const serverArguments = (options: DevServerOptions, port: number, ui: UiPlace): string[] => [
  'server',
  'start-dev',
  ...['--ip', LOOPBACK, '--port', String(port), '--log-level', 'error'],
  ...(ui === null ? ['--headless'] : ['--ui-ip', ui.host, '--ui-port', ui.port]),
  // Its HTTP API takes a form's post from any web page; it answers only under a name that no browser sends.
  ...['--dynamic-config-value', 'frontend.httpAllowedHosts=["emend.invalid"]'],
  ...(options.metricsPort === undefined ? [] : ['--metrics-port', String(options.metricsPort)]),
  ...(options.dbFile === null
    ? []
    : ['--db-filename', options.dbFile, '--sqlite-pragma', 'journal_mode=wal']),
  ...attributeFlags(),
  // One history shard polls 20 times a second by default, which puts every step on a 50 ms grid.
  ...['--dynamic-config-value', 'history.transferProcessorMaxPollRPS=1000'],
  ...['--dynamic-config-value', 'history.timerProcessorMaxPollRPS=1000'],
];

/** Returns the cluster id once the default namespace answers and the log reports the start. Null: the process ended or the time is over. */
const ready = async (
  address: string,
  child: ChildProcess,
  readLog: () => Promise<string>,
): Promise<string | null> => {
  const ended = (): boolean => child.exitCode !== null || child.signalCode !== null;
  // On this machine whatever `http_proxy` says; asked again by this loop alone, as the SDK waits longer from time to time.
  const channelArgs = { 'grpc.enable_http_proxy': 0, 'grpc.initial_reconnect_backoff_ms': 50 };
  const connection = Connection.lazy({ address, interceptors: [], channelArgs });
  try {
    const end = performance.now() + DEV_READY_MS;
    while (performance.now() < end && !ended()) {
      const answer = await connection
        .withDeadline(Date.now() + 1_000, async () => {
          await connection.workflowService.describeNamespace({ namespace: 'default' });
          return connection.workflowService.getClusterInfo({});
        })
        .catch(() => null);
      // Another server that took the port first would answer too, and ours ends later where an inner port of its own is taken.
      if (answer && SERVES.test(await readLog())) return ended() ? null : answer.clusterId;
      await sleep(50);
    }
    return null;
  } finally {
    await connection.close();
  }
};

const CRASH = /^(?:panic|fatal error): .*/m; // Why a Go program crashed, which stands above its stack.
const lastLines = (log: string): string =>
  log === '' ? 'it printed nothing.' : log.split('\n').slice(-3).join(' ').slice(-500);
