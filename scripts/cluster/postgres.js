/** A PostgreSQL of its own in a temporary directory, on the loopback address, with a password. No system cluster is touched. */
import { execFileSync, spawn } from 'node:child_process';
import { chown, mkdir, open, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { end, eventually } from './state.js';

const DATABASE_USER = 'temporal';
const INIT_MS = 120_000;
const READY_MS = 120_000;

/** PostgreSQL refuses to run as root: then it runs as `nobody`, who owns nothing else. */
const runAs = () => {
  if (process.getuid?.() !== 0) return {};
  const id = (flag) => Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
};

/** Makes the data directory below `dir` (which only its user may enter). */
export const initPostgres = async ({ bin, dir, password }) => {
  const who = runAs();
  await mkdir(dir, { mode: 0o700 });
  const passwordFile = join(dir, 'password');
  await writeFile(passwordFile, `${password}\n`, { mode: 0o600 });
  if (who.uid !== undefined)
    for (const path of [dir, passwordFile]) await chown(path, who.uid, who.gid);
  const options = [
    '--auth=scram-sha-256',
    `--pwfile=${passwordFile}`,
    '--encoding=UTF8',
    '--no-locale',
    '--no-instructions',
  ];
  execFileSync(
    join(bin, 'initdb'),
    [`--pgdata=${join(dir, 'data')}`, `--username=${DATABASE_USER}`, ...options],
    {
      ...who,
      cwd: '/',
      timeout: INIT_MS,
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  );
};

/** The first message of protocol 3.0. What takes connections asks for a password (R); what still recovers says so as an error (E). */
const startupMessage = () => {
  const text = Buffer.from(
    ['user', DATABASE_USER, 'database', 'postgres', '', ''].join('\0'),
    'latin1',
  );
  const head = Buffer.alloc(8);
  head.writeInt32BE(8 + text.length, 0);
  head.writeInt32BE(3 << 16, 4);
  return Buffer.concat([head, text]);
};

const answers = (port) =>
  new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, timeout: 2_000 });
    socket.once('connect', () => socket.write(startupMessage()));
    socket.once('data', (data) => {
      if (data[0] === 'R'.charCodeAt(0)) resolve();
      socket.destroy();
    });
    for (const event of ['error', 'timeout', 'close'])
      socket.once(event, () => {
        socket.destroy();
        reject(new Error(`PostgreSQL does not answer on port ${port}`));
      });
  });

/** Starts it and waits until it answers; returns its pid. After a kill it recovers from its log first, as after a power cut. */
export const startPostgres = async ({ bin, dir, port }) => {
  const log = await open(join(dir, '..', 'postgres.log'), 'a');
  const settings = [
    `port=${port}`,
    'listen_addresses=127.0.0.1',
    `unix_socket_directories=${dir}`,
    'max_connections=100',
  ];
  try {
    // A killed postmaster's children need a moment to notice, and hold the memory until then.
    return await eventually('PostgreSQL', READY_MS, async () => {
      const child = spawn(
        join(bin, 'postgres'),
        ['-D', join(dir, 'data'), ...settings.flatMap((setting) => ['-c', setting])],
        { ...runAs(), cwd: '/', detached: true, stdio: ['ignore', log.fd, log.fd] },
      );
      const ended = new Promise((_, reject) => {
        child.once('error', reject);
        child.once('exit', (code) =>
          reject(new Error(`postgres ended with ${code}; see postgres.log`)),
        );
      });
      ended.catch(() => undefined);
      await Promise.race([ended, eventually('answer', 30_000, () => answers(port))]);
      child.unref();
      return child.pid;
    });
  } finally {
    await log.close();
  }
};

/** SIGKILL: nothing is written out, connections break. */
export const killPostgres = ({ pid }) => end(pid, 'SIGKILL');
/** The fast shutdown: sessions are ended, everything is written. */
export const stopPostgres = ({ pid }) => end(pid, 'SIGINT');
