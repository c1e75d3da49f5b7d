/**
 * Hosts without Docker: each is a process group of services of docker-compose.yml, by the file's own commands and environment, in a directory
 * of its own. Such a host shares nothing with the others but what the environment names; it is killed whole, and its directory goes with it.
 */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readService } from '../../scripts/cluster/compose.js';
import { freePort } from '../../src/temporal/dev-server.js';

export interface HostsWanted {
  /** Gets a directory for each host, and `logs`. */
  readonly dir: string;
  /** Of docker-compose.yml; each is a process, with a home of its own. */
  readonly services: readonly string[];
  /** What the compose file leaves to whoever starts it. */
  readonly variables: Readonly<Record<string, string>>;
  /** Over the file's environment. */
  readonly env: Readonly<Record<string, string>>;
}
export interface ComposeHost {
  /** Its commits have it as their author. */
  readonly name: string;
  readonly dir: string;
  /** All of its services take work. */
  isReady(): boolean;
  /** Null: its processes are as they should be; else the end of what one said that ended by itself. */
  fault(): string | null;
  /** Does a worker of this identity (as the server knows it) belong to it? */
  has(identity: string): boolean;
  /** SIGKILL to all of its processes, then the directory. */
  kill(): Promise<void>;
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

const commandLine = async (name: string, service: string, wanted: HostsWanted): Promise<string> => {
  const home = join(wanted.dir, name, service);
  const { command, environment } = await readService(service, wanted.variables);
  const [program, ...args] = command.map((word) =>
    word.replace(/^node$/, process.execPath).replace(/^\/app\//, `${process.cwd()}/`),
  );
  // Below those that the system gives to connections, which may take one before the worker does.
  const port = await freePort(20_000 + Math.floor(Math.random() * 12_000));
  const own = {
    HOME: join(home, 'user'),
    EMEND_HOME: join(home, 'emend'),
    TMPDIR: join(home, 'tmp'),
  };
  mkdirSync(own.HOME, { recursive: true });
  mkdirSync(own.TMPDIR);
  writeFileSync(join(own.HOME, '.gitconfig'), `[user]\nname = ${name}\nemail = host@example.org\n`);
  const variables = Object.entries({ ...environment, ...wanted.env, ...own });
  const exported = variables.map(([variable, value]) => `${variable}=${quoted(value)}`).join(' ');
  const words = [program!, ...args].map((word) =>
    quoted(word.replace(/^127\.0\.0\.1:9465$/, `127.0.0.1:${port}`)),
  );
  return `env ${exported} ${words.join(' ')}`;
};

/** Starts it; it is not ready yet. */
export const startHost = async (name: string, wanted: HostsWanted): Promise<ComposeHost> => {
  const dir = join(wanted.dir, name);
  const logs = join(wanted.dir, 'logs');
  mkdirSync(logs, { recursive: true });
  const lines: string[] = [];
  for (const service of wanted.services) {
    const command = await commandLine(name, service, wanted);
    // The first that ends ends the host's shell, which is how it is noticed.
    lines.push(
      `( ${command} || true; kill -s TERM $$ ) > ${quoted(join(logs, `${name} ${service}`))} 2>&1 &`,
    );
  }
  const env = { PATH: process.env.PATH, LANG: 'C.UTF-8' };
  const leader = spawn('/bin/sh', ['-c', `${lines.join('\n')}\nwait`], {
    cwd: dir,
    env,
    detached: true,
    stdio: 'ignore',
  });
  const exited = new Promise<void>((resolve) => leader.once('exit', () => resolve()));
  const said = (service: string): string => textOf(join(logs, `${name} ${service}`));
  return {
    name,
    dir,
    isReady: () => wanted.services.every((service) => said(service).includes('worker ready')),
    fault: () =>
      hasEnded(leader)
        ? wanted.services.map((each) => `${name} ${each}: ${said(each).slice(-2_000)}`).join('\n')
        : null,
    has: (identity) => idsOf(dir).some((id) => identity.includes(`host ${id.slice(0, 8)}.`)),
    kill: async () => {
      killAll(leader.pid!);
      await exited;
      rmSync(dir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
    },
  };
};

/** A process and all below it, whatever group they have made for themselves: a host that is lost loses them all at once. */
const killAll = (pid: number): void => {
  const all = new Set([pid]);
  const send = (signal: NodeJS.Signals, to: number): void => {
    try {
      process.kill(to, signal);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  };
  // Stopped first: what starts meanwhile would be nobody's.
  for (let before = 0; before < all.size;) {
    before = all.size;
    for (const each of all) send('SIGSTOP', each);
    for (const line of execFileSync('ps', ['-eo', 'pid=,ppid='], { encoding: 'utf8' })
      .trim()
      .split('\n')) {
      const [child = 0, parent = 0] = line.trim().split(/ +/).map(Number);
      if (all.has(parent)) all.add(child);
    }
  }
  // The group too: where the first has ended by itself, what it started is below nobody.
  for (const each of [-pid, ...all]) send('SIGKILL', each);
};

const hasEnded = ({ exitCode, signalCode }: ChildProcess): boolean =>
  exitCode !== null || signalCode !== null;

const textOf = (path: string): string => {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
};

/** Of the homes that a host's services have. */
const idsOf = (dir: string): readonly string[] =>
  readdirSync(dir).flatMap(
    (service) => /[0-9a-f]{32}/.exec(textOf(join(dir, service, 'emend', 'host-id')))?.[0] ?? [],
  );
