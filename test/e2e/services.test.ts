/** The commands that serve until they are ended, as real processes: a signal the moment they are ready, and `--quiet`. */
import { spawn, spawnSync } from 'node:child_process';
import { constants } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { alive } from '../support/alive.js';
import { scene, type Scene } from './support.js';

jest.setTimeout(180_000);

let s: Scene;
beforeAll(async () => {
  s = await scene({ 'a.js': 'let a = 1;\n', 'script.json': '{ "v": 1, "rules": [] }\n' }, []);
});
afterAll(() => s.close());

interface Ended {
  readonly exit: number | NodeJS.Signals | null;
  readonly out: string;
  readonly err: string;
}
/** Sends SIGTERM at the first output that says that it is ready, in the same turn of the event loop that reads it, or when `ready` is so. */
const endedWhenReady = (
  args: readonly string[],
  ready: RegExp | (() => Promise<boolean>),
  env: Record<string, string | undefined>,
): Promise<Ended> =>
  new Promise((resolve) => {
    const child = spawn(process.execPath, [join(process.cwd(), 'dist/client.js'), ...args], {
      cwd: s.repo,
      env: { ...s.env, NODE_OPTIONS: '', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const said = { out: '', err: '' };
    let ended = false;
    let sent = false;
    const end = (): void => {
      if (!sent) child.kill('SIGTERM');
      sent = true;
    };
    const look = (stream: 'out' | 'err') => (part: Buffer) => {
      said[stream] += part.toString();
      if (ready instanceof RegExp && ready.test(said.out + said.err)) end();
    };
    child.stdout.on('data', look('out'));
    child.stderr.on('data', look('err'));
    child.once('close', (code, signal) => {
      ended = true;
      resolve({ exit: code ?? signal, ...said });
    });
    const poll = async (): Promise<void> => {
      while (!ended && !sent && !(ready instanceof RegExp)) {
        if (await ready()) end();
        else await sleep(200);
      }
    };
    void poll();
  });

const READY = {
  web: /#token=/,
  rehearse: /Rehearsal of .* at http/,
  worker: /"worker ready"/,
  dev: /review page {2}http/,
};

/** `aside`: what `--quiet` leaves out; `keeps`: what it does not. The worker says nothing then: it is ready where somebody polls. */
const SERVICES = [
  {
    line: 'web --port 0',
    ready: READY.web,
    aside: 'Each address works once',
    keeps: 'review page  http',
  },
  {
    line: 'rehearse script.json --port 0',
    ready: READY.rehearse,
    aside: 'In the worker',
    keeps: 'Rehearsal of',
  },
  { line: 'worker', ready: READY.worker, aside: 'Ctrl-C stops the worker', keeps: 'new home' },
  {
    line: 'dev',
    ready: READY.dev,
    aside: 'Ctrl-C stops server and worker',
    keeps: 'Temporal UI  http',
  },
];

test.each(SERVICES)(
  'emend $line: a signal right after it says that it is ready ends it, with --quiet too',
  async (row) => {
    const args = row.line.split(' ');
    const command = args[0] ?? '';
    const own = (name: string): Record<string, string | undefined> => ({
      // The page is of a home that is there; the others make theirs.
      ...(command === 'web' ? {} : { EMEND_HOME: join(s.home, '..', `${command}-${name}`) }),
      EMEND_QUEUE: `t-${command}-${process.pid}-${name}`,
      ...(command === 'dev'
        ? { TEMPORAL_ADDRESS: undefined, EMEND_TEMPORAL_CLI: process.env.EMEND_TEST_CLI }
        : {}),
    });
    const loud = await endedWhenReady(args, row.ready, own('loud'));
    expect({ ...loud, line: row.line }).toEqual({ ...loud, line: row.line, exit: 0 });
    const said = loud.out + loud.err;
    expect(said).toMatch(row.ready);
    expect(said).toContain(row.aside);
    expect(said).toContain(row.keeps);

    const env = own('quiet');
    const polled = async (): Promise<boolean> =>
      (await s.emend.runs?.polled(env.EMEND_QUEUE ?? '')) ?? false;
    const quiet = await endedWhenReady(
      [...args, '--quiet'],
      command === 'worker' ? polled : row.ready,
      env,
    );
    expect(quiet).toMatchObject({ exit: 0 });
    expect(quiet.out + quiet.err).not.toContain(row.aside);
    expect(quiet.out + quiet.err).not.toMatch(READY.worker);
    expect(quiet.out + quiet.err).toContain(row.keeps);
  },
);

test('a full standard output and a directory that was removed are each one sentence, and no trace', () => {
  const emend = `"${process.execPath}" "${join(process.cwd(), 'dist/client.js')}"`;
  const typed = (line: string) => {
    const { status, stderr } = spawnSync('bash', ['-c', line], {
      cwd: s.repo,
      env: s.env,
      encoding: 'utf8',
    });
    return [status, stderr];
  };
  // All that is said of it, and the last: no trace follows.
  const full = expect.stringMatching(
    /^emend: Standard output cannot be written: ENOSPC: .*\n$(?!.)/m,
  ) as unknown;
  expect(typed(`${emend} list > /dev/full`)).toEqual([1, full]);
  expect(typed(`${emend} list --json > /dev/full`)).toEqual([1, full]);
  const removed = 'emend: The current directory has been removed.\n  Change to one that exists.\n';
  expect(typed(`mkdir gone && cd gone && rmdir ../gone && ${emend} list`)).toEqual([2, removed]);
});

/** On a terminal that is closed once it says that it is ready: the exit code, and the pid of its server. */
const CLOSED = `
import os, pty, sys, json
pid, fd = pty.fork()
if pid == 0: os.execvp(sys.argv[2], sys.argv[2:])
out = b''
while b'Ctrl-C stops' not in out: out += os.read(fd, 65536)
server = json.load(open(sys.argv[1]))['process']['pid']
os.close(fd)
os.kill(pid, 1) # a shell says it, too
print(json.dumps([os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), server]))`;

test('emend dev whose terminal is closed ends in good order, its server with it', async () => {
  const home = join(s.home, '..', 'closed');
  const words = [
    join(home, 'dev-server.json'),
    process.execPath,
    join(process.cwd(), 'dist/client.js'),
    'dev',
  ];
  const child = spawn('python3', ['-c', CLOSED, ...words], {
    cwd: s.repo,
    env: {
      ...s.env,
      NODE_OPTIONS: '',
      TEMPORAL_ADDRESS: undefined,
      EMEND_TEMPORAL_CLI: process.env.EMEND_TEST_CLI,
      EMEND_HOME: home,
      EMEND_QUEUE: `t-closed-${process.pid}`,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let out = '';
  for await (const part of child.stdout as AsyncIterable<Buffer>) out += part.toString();
  const [exit, server] = JSON.parse(out) as [number, number];
  const left = alive(server);
  if (left) process.kill(server, 'SIGKILL');
  // It dies of the signal in the end: an exit would abort, as Node.js cannot restore the terminal.
  expect({ exit, left }).toEqual({ exit: -constants.signals.SIGHUP, left: false });
});
