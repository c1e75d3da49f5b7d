/** Terminals of a person who has configured no Temporal server: what is typed there, word for word, runs in a shell with `emend` and `temporal` on PATH. */
import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from '@jest/globals';
import { scene, type Scene } from './support.js';

export interface Typed {
  /** Of the command itself: the shell gives its place to it. */
  readonly pid: number;
  /** All that it has printed. */
  readonly said: () => string;
  /** Waits until it has said that since character `from`; fails where it ends or takes longer. */
  says(what: RegExp, limit_ms?: number, from?: number): Promise<void>;
  readonly ended: Promise<number | null>;
  kill(signal: NodeJS.Signals): Promise<void>;
}
export interface Terminals extends Scene {
  /** The last command of the line may serve until it is killed; `close` ends it. */
  type(line: string): Typed;
  /** As `type`, to its end. */
  done(line: string): Promise<{ readonly code: number | null; readonly said: string }>;
}

const PATIENCE_MS = 60_000;
/** Variables that a scene sets and that would decide what is tried here. */
const BARE = {
  TEMPORAL_ADDRESS: undefined,
  EMEND_STORE: undefined,
  EMEND_QUEUE: undefined,
  NODE_OPTIONS: '',
};

/** A home of its own, on no configured server; `emend dev` finds the Temporal CLI of the tests. */
export const terminals = async (...given: Parameters<typeof scene>): Promise<Terminals> => {
  const s = await scene(...given);
  const place = join(s.home, '..');
  const bin = join(place, 'bin');
  mkdirSync(bin);
  const client = join(process.cwd(), 'dist/client.js');
  writeFileSync(join(bin, 'emend'), `#!/bin/sh\nexec "${process.execPath}" "${client}" "$@"\n`, {
    mode: 0o755,
  });
  symlinkSync(process.env.EMEND_TEST_CLI ?? '', join(bin, 'temporal'));
  const home = join(place, 'home of dev');
  const path = `${bin}${delimiter}${process.env.PATH ?? ''}`;
  // The queue tells one test's workers from another's where they share a server.
  const env = {
    ...s.env,
    ...BARE,
    EMEND_QUEUE: s.env.EMEND_QUEUE,
    HOME: place,
    EMEND_HOME: home,
    PATH: path,
    NO_COLOR: '1',
  };
  const running = new Set<Typed>();
  const type = (line: string): Typed => {
    const child = spawn(
      'bash',
      ['-c', line.replace(/(?<!\bexec )\bemend (?!.*\bemend )/, 'exec emend ')],
      {
        cwd: s.repo,
        env,
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    let said = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (more: Buffer) => (said += more.toString()));
    let over = false;
    const ended = new Promise<number | null>((resolve) =>
      child.once('close', (code) => {
        over = true;
        resolve(code);
      }),
    );
    const typed: Typed = {
      pid: child.pid ?? -1,
      said: () => said,
      says: async (what, limit_ms = PATIENCE_MS, from = 0) => {
        const end = performance.now() + limit_ms;
        while (!what.test(said.slice(from))) {
          if (over || performance.now() > end)
            throw new Error(`\`${line}\` does not say ${String(what)}: ${said.slice(from)}`);
          await sleep(50);
        }
      },
      ended,
      kill: async (signal) => {
        if (!over) child.kill(signal);
        await ended;
      },
    };
    running.add(typed);
    return typed;
  };
  return {
    ...s,
    home,
    env,
    type,
    done: async (line) => {
      const typed = type(line);
      return { code: await typed.ended, said: typed.said() };
    },
    close: async () => {
      for (const each of running) await each.kill('SIGTERM');
      await s.close();
    },
  };
};

/** The dev server that the home's record names. */
export const serverOf = ({
  home,
}: Pick<Scene, 'home'>): { readonly pid: number; readonly address: string } => {
  const record = JSON.parse(readFileSync(join(home, 'dev-server.json'), 'utf8')) as {
    readonly process: { readonly pid: number };
    readonly address: string;
  };
  return { pid: record.process.pid, address: record.address };
};

/** `emend dev` or `emend worker` as advised; then, set up in the same way, nothing is missing any more. */
export const follow = async (s: Terminals, advice: string): Promise<Typed> => {
  const service = s.type(advice);
  await service.says(/Ctrl-C stops/);
  await service.says(/worker ready/);
  const { said } = await s.done(advice.replace(/emend (?:dev|worker)/, 'emend doctor'));
  expect(said).toMatch(/^ok +Temporal server/m);
  expect(said).toMatch(/^ok +worker/m);
  return service;
};
