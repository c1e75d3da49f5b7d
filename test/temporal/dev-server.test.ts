import { randomUUID } from 'node:crypto';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, readdir, readFile, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { defineSearchAttributeKey } from '@temporalio/common';
import { ProblemError } from '../../src/shared/problems.js';
import { SEARCH_ATTRIBUTES } from '../../src/shared/names.js';
import { connectClient, type ClientConnection } from '../../src/temporal/connection.js';
import { liveDevServer, recordPath } from '../../src/temporal/dev-record.js';
import { recordPage } from '../../src/temporal/page-record.js';
import { freePort, startDevServer, uiHost, type DevServer } from '../../src/temporal/dev-server.js';
import { examine } from '../../src/cli/commands/doctor.js';
import { ensureSearchAttributes } from '../../src/temporal/search-attributes.js';
import { alive } from '../support/alive.js';
import { testIf, longOnly } from '../support/skipped.js';
import {
  bareEnvironment,
  newHome,
  serverOptions,
  startForeignServer,
  startServer,
} from './support/server.js';

const long = longOnly('a server of its own each');
const onLinux = testIf(process.platform === 'linux', 'open files are counted in /proc');

let place: { home: string; remove: () => Promise<void> };
const servers: DevServer[] = [];
const keep = async (starting: Promise<DevServer>): Promise<DevServer> => {
  const server = await starting;
  servers.push(server);
  return server;
};
const connected = async <T>(use: (client: ClientConnection) => Promise<T>): Promise<T> => {
  const client = await connectClient({
    env: bareEnvironment(place.home),
    home: place.home,
    connect_ms: 10_000,
  });
  try {
    return await use(client);
  } finally {
    await client.close();
  }
};
const problemOf = async (promise: Promise<unknown>) => {
  const error: unknown = await promise.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ProblemError)) throw new Error(`expected a problem, got ${String(error)}`);
  return error.problem;
};

beforeEach(async () => {
  place = await newHome();
});
afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop(0);
  await place.remove();
});

test('where the Temporal UI listens: at no address that could be guessed, or nowhere, unless a person wants it', () => {
  const hosts = Array.from({ length: 100 }, () => uiHost(false, 'linux') ?? '');
  expect(new Set(hosts).size).toBeGreaterThan(90);
  for (const host of hosts) expect(host).toMatch(/^127\.\d+\.\d+\.\d+$/);
  expect(hosts).not.toContain('127.0.0.1');
  expect([uiHost(false, 'darwin'), uiHost(true, 'darwin')]).toEqual([null, '127.0.0.1']);
});

describe('the dev server', () => {
  test('is found by its record, refuses a second one, and leaves no trace when stopped', async () => {
    const options = await serverOptions(place.home, 'file');
    const server = await keep(startDevServer(options));
    expect(await liveDevServer(place.home)).toMatchObject({
      address: server.address,
      hiddenUi: server.hiddenUi,
      uiUrl: null,
      process: { pid: server.pid },
    });
    expect(await connected(async ({ address, uiUrl }) => ({ address, uiUrl }))).toEqual({
      address: server.address,
      uiUrl: null,
    });
    // Once a review page's server lets it through, links of this home lead there.
    const uiUrl = 'http://127.0.0.1:8233';
    const forgetPage = await recordPage(place.home, { pageUrl: 'http://127.0.0.1:8260', uiUrl });
    expect(await connected(async (connection) => connection.uiUrl)).toBe(uiUrl);
    await forgetPage();
    expect(await connected(async (connection) => connection.uiUrl)).toBeNull();

    const second = await problemOf(startDevServer(options));
    expect(second.message).toContain(`pid ${server.pid}, ${server.address}`);
    // Whoever started it ends it in good order.
    expect(second.next).toContain(`kill ${process.pid}`);
    expect(alive(server.pid)).toBe(true);

    await server.stop();
    expect(alive(server.pid)).toBe(false);
    await expect(access(recordPath(place.home))).rejects.toThrow();
    await server.stop();
  });

  long(
    'killed and started again on its file, it still has its runs; a dead record does not stand in the way',
    async () => {
      const first = await keep(startServer(place.home, 'file'));
      const workflowId = randomUUID();
      await connected(({ client }) =>
        client.workflow.start('paused', { taskQueue: workflowId, workflowId }),
      );
      process.kill(first.pid, 'SIGKILL');
      while (await liveDevServer(place.home))
        await new Promise((resolve) => setTimeout(resolve, 20));
      expect(await readFile(recordPath(place.home), 'utf8')).toContain(`${first.pid}`);

      await keep(startServer(place.home, 'file'));
      const status = await connected(({ client }) =>
        client.workflow.getHandle(workflowId).describe(),
      );
      expect(status.status.name).toBe('RUNNING');
    },
  );

  long('a database that another CLI version made is refused with the remedy', async () => {
    const options = await serverOptions(place.home, 'file');
    await (await keep(startDevServer(options))).stop();
    const other = { ...options, cli: { ...options.cli, version: '1.8.0' } };
    const refused = await problemOf(startDevServer(other));
    expect(refused.code).toBe('cli_version');
    expect(refused.message).toContain(`created by Temporal CLI ${options.cli.version}`);
    expect(refused.next).toMatch(/mv '.*server' '.*server-/);
    await expect(access(recordPath(place.home))).rejects.toThrow();
  });

  long('of two that start at once exactly one serves', async () => {
    const options = await serverOptions(place.home, 'memory');
    const both = await Promise.allSettled([
      keep(startDevServer(options)),
      keep(startDevServer(options)),
    ]);
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(await liveDevServer(place.home)).not.toBeNull();
  });

  longOnly('page-sites.test.ts has one on free ports beside that of all tests')(
    'without fixed ports it takes free ones beside another server',
    async () => {
      const options = await serverOptions(place.home, 'memory');
      const free = {
        home: options.home,
        cli: options.cli,
        dbFile: options.dbFile,
        logFile: options.logFile,
      };
      const beside = await newHome();
      try {
        const one = await keep(startDevServer(free));
        const two = await keep(startDevServer({ ...free, home: beside.home }));
        expect(new Set([one.address, two.address, one.hiddenUi, two.hiddenUi]).size).toBe(4);
        await two.stop(0);
      } finally {
        await beside.remove();
      }
    },
  );

  test('a script that starts the CLI as another process is refused with what to write, and leaves no server behind', async () => {
    const options = await serverOptions(place.home, 'memory');
    const wrapper = `${place.home}/wrapper`;
    await writeFile(wrapper, `#!/bin/sh\n'${options.cli.path}' "$@"\n`, { mode: 0o755 });
    const refused = await problemOf(
      startDevServer({ ...options, cli: { ...options.cli, path: wrapper } }),
    );
    expect(refused.code).toBe('no_server');
    expect(refused.next).toContain('exec temporal "$@"');
    await expect(access(recordPath(place.home))).rejects.toThrow();
    // The port is free again once the killed server is gone.
    while ((await freePort(options.port!)) !== options.port) await sleep(50);
  });

  test('one that cannot start says why, and gives its claim back', async () => {
    const options = await serverOptions(place.home, 'memory');
    const noServer = { ...options, cli: { ...options.cli, path: '/nonexistent/temporal' } };
    expect((await problemOf(startDevServer(noServer))).code).toBe('no_server');
    const loud = `${place.home}/loud`;
    await writeFile(loud, '#!/bin/sh\necho the disk is on fire >&2\nexit 1\n', { mode: 0o755 });
    const refused = await problemOf(
      startDevServer({ ...options, cli: { ...options.cli, path: loud } }),
    );
    expect(refused.message).toContain('the disk is on fire');
    expect(refused.next).toContain(options.logFile);
    const stack = 'goroutine 1 [running]:\\nmain.main()\\n\\t/main.go:12 +0x1d\\nexit status 2';
    await writeFile(loud, `#!/bin/sh\nprintf 'panic: no such index\\n\\n${stack}\\n'\nexit 2\n`);
    const crashed = await problemOf(
      startDevServer({ ...options, cli: { ...options.cli, path: loud } }),
    );
    expect(crashed.message).toMatch(/: panic: no such index$/);
    await expect(access(recordPath(place.home))).rejects.toThrow();
  });

  test('a server of somebody else at the same port is not taken for the one that is still starting', async () => {
    const other = await keep(startServer(place.home, 'memory'));
    const mine = await newHome();
    try {
      const late = `${mine.home}/late`;
      await writeFile(late, '#!/bin/sh\nsleep 0.3\necho address already in use >&2\nexit 1\n', {
        mode: 0o755,
      });
      const options = await serverOptions(mine.home, 'memory');
      const port = Number(other.address.split(':')[1]);
      const refused = await problemOf(
        startDevServer({ ...options, port, cli: { ...options.cli, path: late } }),
      );
      expect(refused.code).toBe('no_server');
      expect(refused.message).toContain('address already in use');
    } finally {
      await mine.remove();
    }
  });

  onLinux('what it is asked before each run leaves no connection behind', async () => {
    const { pid } = await keep(startServer(place.home, 'memory'));
    await connected(async ({ connection }) => {
      const ask = () => ensureSearchAttributes(connection, 'default');
      expect(await ask()).toBe(true);
      const open = async () => (await readdir(`/proc/${pid}/fd`)).length;
      const before = await open();
      for (let run = 0; run < 10; run++) expect(await ask()).toBe(true);
      expect((await open()) - before).toBeLessThan(10);
    });
  });

  long(
    'a record of a pid that now belongs to another process is not taken for a server',
    async () => {
      const server = await keep(startServer(place.home, 'memory'));
      const record = JSON.parse(await readFile(recordPath(place.home), 'utf8')) as {
        process: object;
      };
      await server.stop();
      const bystander = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 60000)']);
      try {
        await once(bystander, 'spawn');
        const reused = { ...record, process: { ...record.process, pid: bystander.pid } };
        await writeFile(recordPath(place.home), JSON.stringify(reused));
        expect(await liveDevServer(place.home)).toBeNull();
        await (await keep(startServer(place.home, 'memory'))).stop();
        expect(alive(bystander.pid!)).toBe(true);
      } finally {
        bystander.kill('SIGKILL');
      }
    },
  );
});

describe('what needs a server', () => {
  test('nothing listening, a closed port given, the wrong kind of server, an unknown namespace: one sentence and what to type', async () => {
    const connect = (env: Record<string, string>) =>
      problemOf(
        connectClient({
          env: { ...bareEnvironment(place.home), ...env },
          home: place.home,
          connect_ms: 3_000,
        }),
      );
    const closed = await connect({ TEMPORAL_ADDRESS: '127.0.0.1:1' });
    expect(closed.code).toBe('no_server');
    expect(closed.message).toContain('127.0.0.1:1 (configuration): nothing is listening');

    const server = await keep(startServer(place.home, 'memory'));
    const ui = await connect({ TEMPORAL_ADDRESS: new URL(server.hiddenUi ?? '').host });
    expect(ui.code).toBe('no_server');
    const namespace = await connect({ TEMPORAL_NAMESPACE: 'nowhere' });
    expect(namespace.message).toContain('no namespace "nowhere"');
    expect(namespace.next).toContain(
      `temporal operator namespace create --address ${server.address} --namespace nowhere`,
    );
    const profile = await connect({ TEMPORAL_PROFILE: 'absent' });
    expect(profile.code).toBe('config_invalid');
  });

  test('a namespace of the dev server has the search attributes from the first moment', async () => {
    await keep(startServer(place.home, 'memory'));
    await connected(async ({ client }) => {
      const key = defineSearchAttributeKey(SEARCH_ATTRIBUTES.state, 'KEYWORD');
      const handle = await client.workflow.start('paused', {
        taskQueue: 'none',
        workflowId: randomUUID(),
        typedSearchAttributes: [{ key, value: 'waiting' }],
      });
      expect((await handle.describe()).typedSearchAttributes.get(key)).toBe('waiting');
    });
  });

  long(
    'a profile of temporal.toml is used; the key of another server is not sent to the dev server',
    async () => {
      const server = await keep(startServer(place.home, 'memory'));
      const file = `${place.home}/temporal.toml`;
      await writeFile(
        file,
        `[profile.mine]\naddress = "${server.address}"\nnamespace = "default"\n`,
      );
      const env = {
        ...bareEnvironment(place.home),
        TEMPORAL_CONFIG_FILE: file,
        TEMPORAL_PROFILE: 'mine',
      };
      const elsewhere = `${place.home}/elsewhere`;
      const client = await connectClient({ env, home: elsewhere, connect_ms: 10_000 });
      expect([client.address, client.uiUrl]).toEqual([server.address, null]);
      await client.close();
      const withKey = {
        ...bareEnvironment(place.home),
        TEMPORAL_API_KEY: 'not-for-the-dev-server',
      };
      await (await connectClient({ env: withKey, home: place.home, connect_ms: 10_000 })).close();
    },
  );

  long(
    'search attributes are created once, awaited, and refused where the type is another',
    async () => {
      await keep(startForeignServer(place.home));
      await connected(async ({ connection, client, namespace }) => {
        expect(await ensureSearchAttributes(connection, namespace)).toBe(true);
        expect(await ensureSearchAttributes(connection, namespace)).toBe(true);
        const workflowId = randomUUID();
        const handle = await client.workflow.start('paused', {
          taskQueue: workflowId,
          workflowId,
          typedSearchAttributes: [
            { key: defineSearchAttributeKey(SEARCH_ATTRIBUTES.state, 'KEYWORD'), value: 'waiting' },
          ],
        });
        expect((await handle.describe()).status.name).toBe('RUNNING');

        const { operatorService } = connection;
        await operatorService.removeSearchAttributes({
          namespace,
          searchAttributes: [SEARCH_ATTRIBUTES.reason],
        });
        const int = 3;
        const another = {
          namespace,
          searchAttributes: Object.fromEntries([[SEARCH_ATTRIBUTES.reason, int]]),
        };
        await operatorService.addSearchAttributes(another);
        const told: string[] = [];
        expect(await ensureSearchAttributes(connection, namespace, (why) => told.push(why))).toBe(
          false,
        );
        expect(told.join()).toContain(`${SEARCH_ATTRIBUTES.reason} is not of type Keyword`);
      });
    },
  );

  test('doctor names what is missing and the command that mends it, and shows no key', async () => {
    const env = {
      ...bareEnvironment(place.home),
      EMEND_TEMPORAL_CLI: '/nonexistent/temporal',
    };
    const sick = new Map((await examine(env)).map((check) => [check.name, check]));
    expect([...sick.values()].filter(({ ok }) => !ok).map(({ name }) => name)).toEqual([
      'Temporal CLI',
      'Temporal server',
      'worker',
      'build',
      'hosts',
      'model',
    ]);
    // A new home is nothing that is missing: it is told what to type first.
    for (const { name, ok, fix } of sick.values())
      expect(name === 'EMEND_HOME' || ok === (fix === null)).toBe(true);
    expect(sick.get('EMEND_HOME')).toEqual({
      name: 'EMEND_HOME',
      ok: true,
      found: `${place.home}: no runs yet`,
      fix: 'Start one with: emend run -m "what to change"',
    });
    expect(sick.get('Temporal CLI')?.found).toContain('/nonexistent/temporal does not exist');

    const server = await keep(startServer(place.home, 'memory'));
    const key = 'sk-ant-do-not-show';
    const well = await examine({
      ...bareEnvironment(place.home),
      ANTHROPIC_API_KEY: key,
      ANTHROPIC_BASE_URL: `http://me:${key}@localhost:1`,
    });
    const found = Object.fromEntries(well.map((check) => [check.name, check.found]));
    expect(found['Temporal server']).toContain(server.address);
    expect(found.worker).toMatch(/^No worker serves the task queues emend-host-/);
    expect(found.model).toBe('ANTHROPIC_API_KEY is set, localhost:1');
    expect(JSON.stringify(well)).not.toContain(key);
    expect(found.EMEND_HOME).toBe(`${place.home}: no runs yet`);
  });
});
