/** What is known of a running cluster, in a file: whoever controls it (the runner, a test) is a process of its own. */
import { randomInt } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

export const readState = async (path) => JSON.parse(await readFile(path, 'utf8'));

export const writeState = async (path, state) => {
  await writeFile(`${path}.new`, JSON.stringify(state, null, 2));
  await rename(`${path}.new`, path);
};

/** Temporal's table of cluster members on PostgreSQL keeps ports as smallint: those that the kernel hands out are too high. */
const [LOWEST_PORT, PORTS] = [15_000, 17_000];

const listenOn = (port) =>
  new Promise((resolve) => {
    const server = createServer().once('error', () => resolve(null));
    server.listen(port, '127.0.0.1', () => resolve(server));
  });

/** Free ports of the loopback address, all different. */
export const freePorts = async (count) => {
  const servers = [];
  while (servers.length < count) {
    const server = await listenOn(LOWEST_PORT + randomInt(PORTS));
    if (server !== null) servers.push(server);
  }
  const ports = servers.map((server) => server.address().port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
};

export const isAlive = (pid) => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
};

/** Sends the signal and waits until the process is gone. Throws where there was none: a fault that strikes nothing proves nothing. */
export const end = async (pid, signal, limit_ms = 30_000) => {
  if (pid === null || !isAlive(pid)) throw new Error(`no process to end: ${pid}`);
  process.kill(pid, signal);
  for (const until = Date.now() + limit_ms; isAlive(pid); await sleep(50))
    if (Date.now() > until)
      throw new Error(`process ${pid} did not end within ${limit_ms} ms of ${signal}`);
};

/** Tries until it succeeds; throws the last error after the limit. */
export const eventually = async (what, limit_ms, work) => {
  for (const until = Date.now() + limit_ms; ; await sleep(250)) {
    try {
      return await work();
    } catch (error) {
      if (Date.now() > until)
        throw new Error(`${what}: not within ${limit_ms} ms: ${error.message}`, { cause: error });
    }
  }
};
