/** Temporal's server on that PostgreSQL: schemas, start, kill, namespace. All four services in one process. */
import { spawn } from 'node:child_process';
import { mkdir, open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runService, SERVICES, serviceProcess } from './compose.js';
import { end, eventually, freePorts } from './state.js';

/** For what ends: making both schemas, making the namespace. */
export const SCHEMA_MS = 120_000;
const READY_MS = 180_000;

export const choosePorts = async () => {
  const ports = await freePorts(3 * SERVICES.length);
  return Object.fromEntries(
    SERVICES.map((name, i) => [
      name,
      { grpc: ports[3 * i], membership: ports[3 * i + 1], http: ports[3 * i + 2] },
    ]),
  );
};

/** Clients must show a certificate of the CA, and so must the server's own parts, which are clients of one another. */
const tlsVariables = ({ ca, cert, key, serverName }) => ({
  TEMPORAL_TLS_REQUIRE_CLIENT_AUTH: 'true',
  TEMPORAL_TLS_SERVER_CA_CERT: ca,
  TEMPORAL_TLS_SERVER_CERT: cert,
  TEMPORAL_TLS_SERVER_KEY: key,
  TEMPORAL_TLS_INTERNODE_SERVER_NAME: serverName,
  TEMPORAL_TLS_CLIENT1_CA_CERT: ca,
  TEMPORAL_TLS_CLIENT2_CA_CERT: ca,
  TEMPORAL_TLS_FRONTEND_CERT: cert,
  TEMPORAL_TLS_FRONTEND_KEY: key,
  TEMPORAL_TLS_FRONTEND_SERVER_NAME: serverName,
});

/** Starts it as docker-compose.yml does, waits until its frontend answers and, unless it speaks TLS, makes the namespace; returns its pid. */
export const startTemporal = async (state, tls = null) => {
  const { dir, ports } = state.temporal;
  await mkdir(dir, { recursive: true });
  const { command, args, env } = await serviceProcess(state, 'temporal');
  const log = await open(join(dir, 'temporal.log'), 'a');
  try {
    const child = spawn(command, args, {
      env: { ...env, ...(tls === null ? {} : tlsVariables(tls)) },
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
    await Promise.race([
      ended,
      eventually('the Temporal server', READY_MS, () => connected(address, tls)),
    ]);
    if (tls === null) {
      await runService(state, 'namespace', SCHEMA_MS);
      await eventually('the namespace', READY_MS, () => connected(address, null, knowsNamespace));
    }
    child.unref();
    return child.pid;
  } finally {
    await log.close();
  }
};

const connected = async (address, tls, use = async () => undefined) => {
  const { Connection } = await import('@temporalio/client');
  const connection = await Connection.connect({
    address,
    connectTimeout: 5_000,
    ...(await credentials(tls)),
  });
  try {
    await use(connection);
  } finally {
    await connection.close();
  }
};

/** A new namespace takes seconds to be known to all services: a list and a poll say when. */
const knowsNamespace = async ({ workflowService }) => {
  const namespace = 'default';
  await workflowService.listWorkflowExecutions({ namespace, pageSize: 1 });
  await workflowService.describeTaskQueue({
    namespace,
    taskQueue: { name: 'ready' },
    taskQueueType: 1,
  });
};

const credentials = async (tls) => {
  if (tls === null) return {};
  const [ca, crt, key] = await Promise.all(
    [tls.ca, tls.cert, tls.key].map((path) => readFile(path)),
  );
  return {
    tls: {
      serverRootCACertificate: ca,
      serverNameOverride: tls.serverName,
      clientCertPair: { crt, key },
    },
  };
};

export const killTemporal = ({ pid }) => end(pid, 'SIGKILL');
export const stopTemporal = ({ pid }) => end(pid, 'SIGTERM').catch(() => end(pid, 'SIGKILL'));
