/** Temporal's server on that PostgreSQL: schemas, start, kill, namespace. All four services in one process. */
import { execFileSync, spawn } from 'node:child_process';
import { mkdir, open, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { SERVICES, serverConfig } from './config.js';
import { DATABASE_USER } from './postgres.js';
import { end, eventually, freePorts } from './state.js';

const SCHEMA_MS = 120_000;
const READY_MS = 180_000;
const RETENTION_S = 3 * 86_400;

/** As docker-compose.yml does it: may be run again over what is there. */
export const setUpSchemas = async ({ sql, dir, port, password }) => {
  const log = await open(join(dir, 'schema.log'), 'a');
  for (const [schema, database] of Object.entries({ temporal: 'temporal', visibility: 'temporal_visibility' })) {
    const tool = (...args) =>
      execFileSync(sql, ['--plugin', 'postgres12', '--ep', '127.0.0.1', '-p', `${port}`, '--db', database, ...args], {
        env: { ...process.env, SQL_USER: DATABASE_USER, SQL_PASSWORD: password },
        timeout: SCHEMA_MS,
        stdio: ['ignore', log.fd, log.fd],
      });
    tool('create');
    tool('setup-schema', '-v', '0.0');
    tool('update-schema', '--schema-name', `postgresql/v12/${schema}`);
  }
  await log.close();
};

export const choosePorts = async () => {
  const ports = await freePorts(2 * SERVICES.length);
  return Object.fromEntries(SERVICES.map((name, i) => [name, { grpc: ports[2 * i], membership: ports[2 * i + 1] }]));
};

/** Starts it and waits until the frontend answers and, unless it speaks TLS, the namespace is there; returns its pid. */
export const startTemporal = async ({ server, dir, postgresPort, password, ports, tls = null }) => {
  await mkdir(dir, { recursive: true });
  const file = join(dir, 'temporal.yaml');
  await writeFile(file, JSON.stringify(serverConfig({ postgresPort, password, ports, tls }), null, 2), { mode: 0o600 });
  const log = await open(join(dir, 'temporal.log'), 'a');
  try {
    const child = spawn(server, ['--config-file', file, '--allow-no-auth', 'start'], {
      cwd: dir,
      detached: true,
      stdio: ['ignore', log.fd, log.fd],
    });
    const ended = new Promise((_, reject) => {
      child.once('error', reject);
      child.once('exit', (code) =>
        reject(new Error(`the Temporal server ended with ${code}; see ${dir}/temporal.log`)),
      );
    });
    ended.catch(() => undefined);
    const address = `127.0.0.1:${ports.frontend.grpc}`;
    await Promise.race([ended, eventually('the Temporal server', READY_MS, () => ready(address, tls))]);
    child.unref();
    return child.pid;
  } finally {
    await log.close();
  }
};

const ready = async (address, tls) => {
  const { Connection } = await import('@temporalio/client');
  const connection = await Connection.connect({ address, connectTimeout: 5_000, ...(await credentials(tls)) });
  try {
    await ensureNamespace(connection);
  } finally {
    await connection.close();
  }
};

const credentials = async (tls) => {
  if (tls === null) return {};
  const [ca, crt, key] = await Promise.all([tls.ca, tls.cert, tls.key].map((path) => readFile(path)));
  return { tls: { serverRootCACertificate: ca, serverNameOverride: tls.serverName, clientCertPair: { crt, key } } };
};

const ensureNamespace = async (connection) => {
  const { workflowService } = connection;
  const namespace = 'default';
  const known = await workflowService.describeNamespace({ namespace }).catch((error) => {
    if (error.code !== 5) throw error;
    return null;
  });
  if (known === null)
    await workflowService.registerNamespace({
      namespace,
      workflowExecutionRetentionPeriod: { seconds: RETENTION_S },
    });
  // A new namespace takes seconds to be known to all services: a poll or a start says when.
  await workflowService.listWorkflowExecutions({ namespace, pageSize: 1 });
  await workflowService.describeTaskQueue({ namespace, taskQueue: { name: 'ready' }, taskQueueType: 1 });
};

export const killTemporal = ({ pid }) => end(pid, 'SIGKILL');
export const stopTemporal = ({ pid }) => end(pid, 'SIGTERM').catch(() => end(pid, 'SIGKILL'));
