/** Which server is this home's own: a record alone proves nothing, as the port of a server that is gone may be another user's by now. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Client, Connection } from '@temporalio/client';
import type { Payload, PayloadCodec } from '@temporalio/common';
import {
  DefaultLogger,
  NativeConnection,
  Runtime,
  Worker,
  type WorkerOptions,
  type WorkerTuner,
} from '@temporalio/worker';
import { pino } from 'pino';
import { examine } from '../../src/cli/commands/doctor.js';
import { openEmend } from '../../src/client/open.js';
import { commandQueueOf, queuesFor, workflowQueues } from '../../src/shared/names.js';
import { ProblemError } from '../../src/shared/problems.js';
import { hostId } from '../../src/stores/home.js';
import { listensAt } from '../../src/system/listening.js';
import { processOf, type ProcessIdentity } from '../../src/system/process.js';
import { realSys, type Sys } from '../../src/system/sys.js';
import { connectClient } from '../../src/temporal/connection.js';
import {
  liveDevServer,
  replaceRecord,
  type DevServerRecord,
} from '../../src/temporal/dev-record.js';
import { freePort, type DevServer } from '../../src/temporal/dev-server.js';
import { createActivities, createWorker, type WorkerParts } from '../../src/worker/index.js';
import { connectWorker } from '../../src/worker/run-workers.js';
import { testIf } from '../support/skipped.js';
import { bareEnvironment, newHome, startServer } from './support/server.js';

const denied = (path: string) => Object.assign(new Error(path), { code: 'EACCES' });
const noProc: Sys = {
  ...realSys,
  readFile: (path) =>
    path.startsWith('/proc/') ? Promise.reject(denied(path)) : realSys.readFile(path),
};
const lsof = await listensAt(noProc, process.pid, '127.0.0.1:1');

type Place = Awaited<ReturnType<typeof newHome>>;
let mine: Place;
let theirs: Place;
let own: DevServer;
let foreign: DevServer;
let record: DevServerRecord;
let foreignId: string;
let bystander: ChildProcess;
/** Where the program exports what its runtime measures. */
let exported: string;
beforeAll(async () => {
  exported = `127.0.0.1:${await freePort(0)}`;
  Runtime.install({
    shutdownSignals: [],
    logger: new DefaultLogger('ERROR'),
    telemetryOptions: { metrics: { prometheus: { bindAddress: exported } } },
  });
  [mine, theirs] = await Promise.all([newHome(), newHome()]);
  [own, foreign] = await Promise.all([
    startServer(mine.home, 'memory'),
    startServer(theirs.home, 'memory'),
  ]);
  record = (await liveDevServer(mine.home))!;
  foreignId = (await liveDevServer(theirs.home))!.clusterId!;
  bystander = spawn(process.execPath, ['-e', 'setInterval(() => {}, 60000)']);
  await once(bystander, 'spawn');
});
afterAll(async () => {
  bystander.kill('SIGKILL');
  await Promise.all([own.stop(0), foreign.stop(0)]);
  await Promise.all([mine.remove(), theirs.remove()]);
  await Runtime.instance().shutdown();
});

const identityOf = async (pid: number): Promise<ProcessIdentity> =>
  (await processOf(realSys, pid))!;

describe('without an address, client and worker', () => {
  const settings = () => ({
    env: { ...bareEnvironment(mine.home), TEMPORAL_CONFIG_FILE: 'none' },
    home: mine.home,
    connect_ms: 10_000,
  });
  const use = async (changes: Partial<DevServerRecord>) => {
    await replaceRecord(mine.home, { ...record, ...changes });
    try {
      return await Promise.all(
        [connectClient, connectWorker].map(async (connect) => {
          const connected = await connect(settings()).catch((error: unknown) => error);
          if (connected instanceof ProblemError) return connected.problem;
          const { address, close } = connected as { address: string; close: () => Promise<void> };
          await close();
          return { address };
        }),
      );
    } finally {
      await replaceRecord(mine.home, record);
    }
  };
  const refusal = (message: string, next: string) => ({
    code: 'no_server',
    message: expect.stringContaining(message),
    next: expect.stringContaining(next),
  });

  test('use the dev server of their home, whose cluster id the record has', async () => {
    expect(record.clusterId).toMatch(/^[0-9a-f-]{36}$/);
    const used = { address: own.address };
    expect(await use({})).toEqual([used, used]);
  });

  test('connect to its recorded address where the environment calls it localhost, which may also be ::1', async () => {
    const { env, ...more } = settings();
    const named = { ...env, TEMPORAL_ADDRESS: own.address.replace('127.0.0.1', 'localhost') };
    const client = await connectClient({ ...more, env: named });
    expect(client).toMatchObject({ address: own.address, own: true });
    await client.close();
  });

  test('refuse a record whose process lives but does not listen there, even if the cluster id fits', async () => {
    const process = await identityOf(bystander.pid!);
    const found = await use({
      process,
      owner: process,
      address: foreign.address,
      clusterId: foreignId,
    });
    const expected = refusal(
      `(pid ${bystander.pid}) does not listen at ${foreign.address}`,
      `kill ${bystander.pid}; emend dev`,
    );
    expect(found).toMatchObject([expected, expected]);
  });

  test('name the server itself to be stopped if its starter was killed, whose pid may be another process by now', async () => {
    const process = await identityOf(bystander.pid!);
    const found = await use({
      process,
      owner: { ...(await identityOf(foreign.pid)), started: '1' },
      address: foreign.address,
      clusterId: foreignId,
    });
    const expected = refusal('does not listen', `kill ${bystander.pid}; emend dev`);
    expect(found).toMatchObject([expected, expected]);
  });

  test('refuse a record with the cluster id of another server', async () => {
    const expected = refusal(
      `cluster id is ${record.clusterId}, but dev-server.json records ${foreignId}`,
      'emend dev',
    );
    expect(await use({ clusterId: foreignId })).toMatchObject([expected, expected]);
  });

  test('say that the dev server of their home has ended, and do not use who answers at its address now', async () => {
    const gone = { ...(await identityOf(bystander.pid!)), started: '1' };
    const found = await use({ process: gone, address: foreign.address, clusterId: foreignId });
    const expected = refusal('has ended', 'Start it again: emend dev');
    expect(found).toMatchObject([expected, expected]);
  });
});

describe('whether a process listens at an address', () => {
  const port = () => Number(foreign.address.split(':')[1]);

  test('is so only of its own socket, at exactly that address and port', async () => {
    expect(await listensAt(realSys, foreign.pid, foreign.address)).toBe('yes');
    expect(await listensAt(realSys, own.pid, foreign.address)).toBe('no');
    expect(await listensAt(realSys, foreign.pid, `127.0.0.2:${port()}`)).toBe('no');
    expect(await listensAt(realSys, foreign.pid, '127.0.0.1:1')).toBe('no');
    expect(await listensAt(realSys, 2 ** 22 - 1, foreign.address)).toBe('no');
  });

  test('is unknown where the system does not show the sockets of that process', async () => {
    const hidden: Sys = { ...realSys, readdir: (path) => Promise.reject(denied(path)) };
    expect(await listensAt(hidden, foreign.pid, foreign.address)).toBe('unknown');
  });

  testIf(lsof !== 'unknown', 'there is no lsof')('is asked of lsof without /proc', async () => {
    expect(await listensAt(noProc, foreign.pid, foreign.address)).toBe('yes');
    expect(await listensAt(noProc, own.pid, foreign.address)).toBe('no');
  });
});

/** Writes the bytes of a payload backwards, which nobody without the codec can read. */
const backwards = (payload: Payload): Payload => ({
  metadata: {
    ...payload.metadata,
    encoding: (payload.metadata?.encoding ?? new Uint8Array()).toReversed(),
  },
  data: (payload.data ?? new Uint8Array()).toReversed(),
});
const REVERSED: PayloadCodec = {
  encode: (payloads) => Promise.resolve(payloads.map(backwards)),
  decode: (payloads) => Promise.resolve(payloads.map(backwards)),
};

const slots = (numSlots: number) => ({ type: 'fixed-size', numSlots }) as const;
const TUNER: WorkerTuner = {
  workflowTaskSlotSupplier: slots(5),
  activityTaskSlotSupplier: slots(5),
  localActivityTaskSlotSupplier: slots(5),
  nexusTaskSlotSupplier: slots(5),
};
/** Options of Temporal's workers. `onWorker` gets what each worker is created with. */
const ownOptions = (onWorker: (options: WorkerOptions) => void) => ({
  maxCachedWorkflows: 7,
  tuners: { hosts: TUNER },
  sinks: { spoken: { word: { fn: () => undefined } } },
  plugins: [
    {
      name: 'witness',
      configureWorker: (options: WorkerOptions) => {
        onWorker(options);
        return options;
      },
    },
  ],
});

describe('a connection that the program made itself', () => {
  // The environment names this server. No connection may lead to it.
  const elsewhere = () => ({
    ...bareEnvironment(mine.home),
    TEMPORAL_CONFIG_FILE: 'none',
    TEMPORAL_ADDRESS: foreign.address,
  });
  test('is the one that Emend.open uses and leaves open, whatever the environment names', async () => {
    const connection = await Connection.connect({ address: own.address });
    const emend = await openEmend({ env: elsewhere(), connection });
    expect([emend.unreachable, emend.address, emend.own]).toEqual([null, own.address, true]);
    expect(emend.queues).toEqual(queuesFor(elsewhere(), await hostId(mine.home), true));
    expect(await emend.runs!.searchAttributes()).toBe(true);
    await emend.close();
    expect((await connection.workflowService.getSystemInfo({})).serverVersion).toMatch(/^1\./);
    await connection.close();
  });

  test('may come in a client, whose namespace, data converter and interceptors Emend.open takes over', async () => {
    const connection = await Connection.connect({ address: own.address });
    const methods: string[] = [];
    const client = new Client({
      connection,
      namespace: 'default',
      dataConverter: { payloadCodecs: [REVERSED] },
      interceptors: {
        workflow: [
          {
            describe: (input, next) => {
              methods.push('describe');
              return next(input);
            },
          },
        ],
      },
    });
    await client.workflow.start('unknown', {
      workflowId: 'of-a-client',
      taskQueue: 'nobody',
      memo: { stepKey: 'a', jobPath: 'b', title: 'c', workspace: 'd', host: 'e' },
    });
    const emend = await openEmend({ env: elsewhere(), client });
    expect([emend.unreachable, emend.address, emend.namespace]).toEqual([
      null,
      own.address,
      'default',
    ]);
    // The memo is read with the client's codec.
    expect((await emend.runs!.describe({ workflowId: 'of-a-client', runId: null }))?.memo).toEqual(
      expect.objectContaining({ title: 'c', workspace: 'd' }),
    );
    expect(methods).toEqual(['describe']);
    await emend.close();
    await client.workflow.getHandle('of-a-client').terminate();
    await connection.close();
  });

  test('that has no such namespace makes no second connection: the reason is reported', async () => {
    const connection = await Connection.connect({ address: own.address });
    const emend = await openEmend({ env: elsewhere(), connection, namespace: 'nowhere' });
    expect(emend.runs).toBeNull();
    expect(emend.unreachable?.message).toContain('it has no namespace "nowhere"');
    await emend.close();
    await connection.close();
  });

  test('is the one over which createWorker works and leaves open, with the runtime that it was made with', async () => {
    const connection = await NativeConnection.connect({ address: own.address });
    const options = { env: elsewhere(), connection, logger: pino({ level: 'silent' }) };
    await expect(createWorker({ ...options, metrics: '127.0.0.1:0' })).rejects.toMatchObject({
      problem: { code: 'usage' },
    });
    const created: WorkerOptions[] = [];
    const worker = await createWorker({
      ...options,
      metrics: true,
      ...ownOptions((configured) => created.push(configured)),
    });
    // With a tuner and a number of slots the SDK would refuse to create a worker.
    expect(created.filter(({ workflowsPath }) => workflowsPath !== undefined)).toEqual(
      workflowQueues(queuesFor({}, await hostId(mine.home), true)).map((taskQueue) =>
        expect.objectContaining({
          taskQueue,
          maxCachedWorkflows: 7,
          tuner: TUNER,
          sinks: { archive: expect.anything(), spoken: expect.anything() },
        }),
      ),
    );
    expect(worker.address).toBe('its address');
    const metrics = async () => (await fetch(`http://${exported}/metrics`)).text();
    while (!(await metrics()).includes('emend_server_up')) await sleep(100);
    expect(await metrics()).toMatch(/^emend_server_up 1$/m);
    expect(await metrics()).toMatch(/^temporal_worker_start\{/m);
    await worker.stop();
    const { workflowService } = connection;
    expect((await workflowService.getSystemInfo({})).serverVersion).toMatch(/^1\./);
    await connection.close();
  });

  test('is the one over which activities ask for other runs', async () => {
    const connection = await NativeConnection.connect({ address: own.address });
    const propertyNames: string[] = [];
    const seen = new Proxy(connection, {
      get: (target, name) => {
        propertyNames.push(String(name));
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      },
    });
    const activities = await createActivities({ env: elsewhere(), connection: seen });
    // The activities look once at the start for what ended runs hold.
    while (!propertyNames.includes('workflowService'))
      await new Promise((go) => setTimeout(go, 20));
    await activities.close();
    await connection.close();
  });

  test('`emend doctor` names the queue of commands if a program of its own serves all but that', async () => {
    const env = { ...elsewhere(), TEMPORAL_ADDRESS: own.address, EMEND_QUEUE: 'partial' };
    const connection = await NativeConnection.connect({ address: own.address });
    const { close, commands, queues, ...parts } = await createActivities({ env, connection });
    const workflowsPath = fileURLToPath(new URL('./workflows/index.ts', import.meta.url));
    const serve = async (part: WorkerParts) => {
      const worker = await Worker.create({ connection, ...part });
      return { worker, end: worker.run() };
    };
    const served = await Promise.all([
      serve({ ...parts.workflows, workflowsPath }),
      ...[parts.model, parts.host, parts.anyHost].map(serve),
    ]);
    const workerLine = async () =>
      (await examine(env)).find(({ name }) => name === 'worker')?.found ?? '';
    try {
      expect(await workerLine()).toBe(
        `No worker serves the task queue ${commandQueueOf(queues.host)}.`,
      );
      served.push(await serve(commands));
      expect(await workerLine()).toContain(`, ${commandQueueOf(queues.host)}`);
    } finally {
      for (const { worker } of served) worker.shutdown();
      await Promise.all(served.map(({ end }) => end));
      await close();
      await connection.close();
    }
  });
});
