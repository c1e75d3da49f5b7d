/** `emend` on a pseudo-terminal, with somebody who types. */
import { spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import type { Scene } from './support.js';

export interface Shown {
  readonly out: string;
  readonly exit: number;
  /** The text that did not come; null: all did. */
  readonly missing: string | null;
}

/** `steps`: what is awaited, then what is typed; null closes the terminal. `shell`: a script of an interactive bash, whose `"$@"` is the command. */
export const onTerminal = async (
  s: Scene,
  args: readonly string[],
  steps: readonly (readonly [wait: string, typed: string | null])[],
  {
    columns = 80,
    env = {},
    shell,
  }: {
    readonly columns?: number;
    readonly env?: Record<string, string>;
    readonly shell?: string;
  } = {},
): Promise<Shown> => {
  const [driver, client] = ['test/support/terminal.py', 'dist/client.js'].map((path) =>
    resolve(path),
  );
  const around = shell === undefined ? [] : ['bash', '--norc', '-ic', shell, 'bash'];
  const words = [
    driver ?? '',
    String(columns),
    JSON.stringify(steps),
    ...around,
    process.execPath,
    client ?? '',
    ...args,
  ];
  const child = spawn('python3', words, {
    cwd: s.repo,
    env: { ...s.env, NODE_OPTIONS: '', TERM: 'xterm-256color', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let out = '';
  for await (const part of child.stdout as AsyncIterable<Buffer>) out += part.toString();
  return JSON.parse(out) as Shown;
};

/** Without colours and moves of the cursor. */
export const unpainted = (out: string): string =>
  stripVTControlCharacters(out).replaceAll('\r', '');
