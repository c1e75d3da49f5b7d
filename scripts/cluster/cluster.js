/** One cluster from first to last: made in a directory, described by a state file, ended by process id. */
import { randomBytes } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { initPostgres, killPostgres, startPostgres, stopPostgres } from './postgres.js';
import { freePorts, isAlive, readState, writeState } from './state.js';
import { runService } from './compose.js';
import { choosePorts, killTemporal, SCHEMA_MS, startTemporal, stopTemporal } from './temporal.js';

/** Makes and starts it; resolves with the path of its state file. `tools` as findTools found them. */
export const startCluster = async (tools) => {
  const dir = await mkdtemp(join(tmpdir(), 'emend-cluster-'));
  // PostgreSQL's user must be able to pass; what is inside lets nobody else in.
  await chmod(dir, 0o711);
  const file = join(dir, 'cluster.json');
  const [port] = await freePorts(1);
  const password = randomBytes(12).toString('hex');
  const state = {
    v: 1,
    dir,
    tools,
    password,
    postgres: { bin: tools.postgres, dir: join(dir, 'postgres'), port, pid: null },
    temporal: { dir: join(dir, 'temporal'), ports: await choosePorts(), pid: null },
  };
  await writeState(file, state);
  try {
    await initPostgres({ bin: tools.postgres, dir: state.postgres.dir, password });
    await control(file, 'start-postgres');
    await runService(state, 'schema', SCHEMA_MS);
    await control(file, 'start-temporal');
    return file;
  } catch (error) {
    await endCluster(file, true);
    throw new Error(`the cluster in ${dir} did not start: ${error.message}`, { cause: error });
  }
};

export const addressOf = ({ temporal }) => `127.0.0.1:${temporal.ports.frontend.grpc}`;

const ACTIONS = {
  'start-postgres': async (state) => ({
    postgres: { ...state.postgres, pid: await startPostgres(state.postgres) },
  }),
  'kill-postgres': async (state) => {
    await killPostgres(state.postgres);
    return { postgres: { ...state.postgres, pid: null } };
  },
  'start-temporal': async (state) => ({
    temporal: { ...state.temporal, pid: await startTemporal(state) },
  }),
  'start-temporal-tls': async (state) => {
    const tls = makeCertificates(state.dir);
    return { temporal: { ...state.temporal, pid: await startTemporal(state, tls) }, tls };
  },
  'kill-temporal': async (state) => {
    await killTemporal(state.temporal);
    return { temporal: { ...state.temporal, pid: null } };
  },
  'stop-temporal': async (state) => {
    await stopTemporal(state.temporal);
    return { temporal: { ...state.temporal, pid: null } };
  },
};

/** Does one thing to the cluster and notes it. */
export const control = async (file, action) => {
  const act = ACTIONS[action];
  if (act === undefined)
    throw new Error(`${action}: expected one of ${Object.keys(ACTIONS).join(', ')}`);
  const state = await readState(file);
  await writeState(file, { ...state, ...(await act(state)) });
};

/** Ends what runs, by process id, and removes everything. `keep`: the directory stays, for whoever looks into its logs. */
export const endCluster = async (file, keep = false) => {
  const state = await readState(file);
  for (const [{ pid }, stop] of [
    [state.temporal, stopTemporal],
    [state.postgres, stopPostgres],
  ])
    if (pid !== null && isAlive(pid))
      await stop({ pid }).catch((error) => console.error(error.message));
  if (!keep) await rm(state.dir, { recursive: true, force: true, maxRetries: 3 });
};

/** A CA of a day, and one certificate for the frontend and its clients. */
const makeCertificates = (dir) => {
  const pathOf = (name) => join(dir, name);
  const serverName = 'temporal.test';
  const openssl = (...args) =>
    execFileSync('openssl', args, { cwd: dir, timeout: 60_000, stdio: 'ignore' });
  const ec = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
  openssl(
    'req',
    '-x509',
    ...ec,
    '-days',
    '1',
    '-subj',
    '/CN=Emend test CA',
    '-keyout',
    pathOf('ca.key'),
    '-out',
    pathOf('ca.pem'),
  );
  openssl(
    'req',
    ...ec,
    '-subj',
    `/CN=${serverName}`,
    '-keyout',
    pathOf('leaf.key'),
    '-out',
    pathOf('leaf.csr'),
    '-addext',
    `subjectAltName=DNS:${serverName}`,
  );
  openssl(
    'x509',
    '-req',
    '-in',
    pathOf('leaf.csr'),
    '-CA',
    pathOf('ca.pem'),
    '-CAkey',
    pathOf('ca.key'),
    '-CAcreateserial',
    '-days',
    '1',
    '-copy_extensions',
    'copy',
    '-out',
    pathOf('leaf.pem'),
  );
  return { ca: pathOf('ca.pem'), cert: pathOf('leaf.pem'), key: pathOf('leaf.key'), serverName };
};
