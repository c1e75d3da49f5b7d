/** The commands that serve until they are ended, as real processes: a signal the moment they are ready, and `--quiet`. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
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
  { line: 'web --port 0', ready: READY.web, aside: 'Each address works once', keeps: 'review page  http' },
  {
    line: 'rehearse script.json --port 0',
    ready: READY.rehearse,
    aside: 'In the worker',
    keeps: 'Rehearsal of',
  },
  { line: 'worker', ready: READY.worker, aside: 'Ctrl-C stops the worker', keeps: 'new home' },
  { line: 'dev', ready: READY.dev, aside: 'Ctrl-C stops server and worker', keeps: 'Temporal UI  http' },
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
      ...(command === 'dev' ? { TEMPORAL_ADDRESS: undefined, EMEND_TEMPORAL_CLI: process.env.EMEND_TEST_CLI } : {}),
    });
    const loud = await endedWhenReady(args, row.ready, own('loud'));
    expect({ ...loud, line: row.line }).toEqual({ ...loud, line: row.line, exit: 0 });
    const said = loud.out + loud.err;
    expect(said).toMatch(row.ready);
    expect(said).toContain(row.aside);
    expect(said).toContain(row.keeps);

    const env = own('quiet');
    const polled = async (): Promise<boolean> => (await s.emend.runs?.polled(env.EMEND_QUEUE ?? '')) ?? false;
    const quiet = await endedWhenReady([...args, '--quiet'], command === 'worker' ? polled : row.ready, env);
    expect(quiet).toMatchObject({ exit: 0 });
    expect(quiet.out + quiet.err).not.toContain(row.aside);
    expect(quiet.out + quiet.err).not.toMatch(READY.worker);
    expect(quiet.out + quiet.err).toContain(row.keeps);
  },
);
