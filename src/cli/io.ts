/** The one place for streams, terminal, colour and questions. */
import { spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { fstatSync } from 'node:fs';
import { createInterface } from 'node:readline/promises';
import { setImmediate } from 'node:timers/promises';
import pc from 'picocolors';
import { EXIT, type ExitCode } from '../shared/problems.js';
import { visible } from '../shared/text.js';
import type { Environment } from '../system/environment.js';
import { isObeyed, isOnRunner, unobeyed, withoutCommands } from './runner-commands.js';

const DISCARD_TURNS = 3; // bound: Turns of the event loop, each of which reads what the terminal holds.

export interface Io {
  readonly env: Environment;
  readonly cwd: string;
  /** A person can read and answer here: stdin and stdout are terminals. */
  readonly isTty: boolean;
  readonly outIsTty: boolean;
  readonly errIsTty: boolean;
  /** Of the terminal; Infinity where stdout is none, so that nothing is cut or broken in a pipe. */
  readonly columns: number;
  readonly colors: ReturnType<typeof pc.createColors>;
  /** Raw text or bytes to stdout. */
  write(text: string | Uint8Array): void;
  /** Lines to stdout and stderr; a line end is added. Whoever's words they are, they move no cursor and hide nothing. */
  out(text: string): void;
  err(text: string): void;
  /** A workflow command for GitHub Actions, on stderr: the one way to write a line that its runner obeys. */
  command(text: string): void;
  /** All of stdin; null where it holds more than `most_bytes`. */
  readAll(most_bytes: number): Promise<Uint8Array | null>;
  /** The answer, or null at the end of input or when `signal` aborts. */
  ask(question: string, signal: AbortSignal): Promise<string | null>;
  /** The same of one key, which needs no Enter. What was typed before the question was drawn was not typed at it, and is thrown away. */
  key(question: string, signal: AbortSignal): Promise<string | null>;
  /**
   * Runs a person's own program (a pager, an editor) by the shell on this terminal: `text` is its stdin, else the terminal is. The exit
   * code; null where it could not be run.
   */
  runTool(
    command: string,
    args: readonly string[],
    text: string | null,
    env?: Environment,
  ): Promise<number | null>;
  /** Ctrl-C, SIGTERM and the end of the terminal come here instead of ending the process; call the result to stop listening. */
  onInterrupt(handler: () => void): () => void;
  /** Ends the process at once; for a second Ctrl-C only. */
  exitNow(code: ExitCode): void;
}

/** `NO_COLOR` (https://no-color.org) beats `FORCE_COLOR`, which beats what the terminal can do. */
export const wantsColor = (env: Environment, isTty: boolean): boolean => {
  if ((env.NO_COLOR ?? '') !== '') return false;
  if ((env.FORCE_COLOR ?? '') !== '' && env.FORCE_COLOR !== '0') return true;
  return isTty && env.TERM !== 'dumb';
};

/** Null where the stream holds more. */
export const readUpTo = async (
  most_bytes: number,
  stream: AsyncIterable<Buffer>,
): Promise<Buffer | null> => {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of stream) {
    bytes += part.length;
    if (bytes > most_bytes) return null;
    parts.push(part);
  }
  return Buffer.concat(parts);
};

const ESCAPE = '\u001b';
const COLOR = new RegExp(`(${ESCAPE}\\[[\\d;]*m)`); // Between them is what `split` gives at even places.

const CTRL_C = '\u0003';
const CTRL_D = '\u0004';
const CTRL_Z = '\u001a';

/** `interrupt`: in raw mode Ctrl-C is a key like others, and so is Ctrl-Z. */
const readKey = async (
  question: string,
  signal: AbortSignal,
  interrupt: () => void,
): Promise<string | null> => {
  const { stdin, stdout } = process;
  const typed = new EventEmitter();
  const onData = (bytes: Buffer): void => {
    if (bytes.includes(CTRL_Z)) {
      stdin.setRawMode(false);
      process.kill(0, 'SIGTSTP'); // As the terminal itself would: all processes of the job.
      return;
    }
    if (bytes.includes(CTRL_C)) interrupt();
    typed.emit('keys', bytes.includes(CTRL_C) || bytes.includes(CTRL_D) ? null : bytes.toString());
  };
  const onEnd = (): void => void typed.emit('keys', null);
  // A shell left the terminal in a mode of its own, and the question out of sight.
  const onContinued = (): void => {
    stdin.setRawMode(false).setRawMode(true);
    stdout.write(question);
  };
  process.on('SIGCONT', onContinued);
  stdin.setRawMode(true).on('data', onData).once('end', onEnd).resume();
  try {
    // All that the terminal holds by now arrives in the first of these turns; nobody listens.
    for (let turn = 0; turn < DISCARD_TURNS; turn += 1) await setImmediate();
    if (signal.aborted) return null;
    stdout.write(question);
    const [keys] = (await once(typed, 'keys', { signal })) as [string | null];
    stdout.write(`${visible(keys?.trim() ?? '')}\n`);
    return keys;
  } catch {
    return null;
  } finally {
    process.off('SIGCONT', onContinued);
    stdin.setRawMode(false).off('data', onData).off('end', onEnd).pause();
  }
};

const runTool: Io['runTool'] = async (command, args, text, env = {}) => {
  // Not above: commands that start nothing would load it also.
  const { ownPath } = await import('../system/programs.js');
  return new Promise((resolve) => {
    // Ctrl-C is for the tool while it runs: git and less take it themselves.
    const ignore = (): void => undefined;
    process.on('SIGINT', ignore);
    const done = (code: number | null): void => {
      process.off('SIGINT', ignore);
      resolve(code);
    };
    const tool = spawn('/bin/sh', ['-c', `${command} "$@"`, command, ...args], {
      stdio: [text === null ? 'inherit' : 'pipe', 'inherit', 'inherit'],
      // A program that a model wrote in the workspace must not take the place of a pager or an editor.
      env: { ...process.env, ...env, PATH: ownPath() },
    });
    tool.once('error', () => done(null));
    tool.once('close', done);
    // A pager that is left early closes its stdin: that is no error.
    tool.stdin?.on('error', ignore);
    tool.stdin?.end(text ?? '');
  });
};

const leadsToFile = (fd: number): boolean => {
  try {
    return fstatSync(fd).isFile();
  } catch {
    return false;
  }
};

export const processIo = (): Io => {
  const { stdin, stdout, stderr, env } = process;
  const isLog = isOnRunner(env);
  const interrupts = new Set<() => void>();
  let told = false;
  const interrupt = (): void => {
    told ||= interrupts.size > 0;
    for (const handler of [...interrupts]) handler();
  };
  let lost = false;
  // Said again and again, by kernel and shell and each write: the first time counts, and it hurries nothing that is being ended.
  const hangUp = (signal?: NodeJS.Signals): void => {
    lost ||= signal === 'SIGHUP';
    if (told) return;
    if (interrupts.size === 0) process.exit(EXIT.done);
    interrupt();
  };
  let unwritten: ExitCode | null = null;
  process.once('exit', (code) => {
    process.exitCode = unwritten ?? code;
    // Node.js aborts, with a core dump, where it finds no terminal to restore.
    if (lost) process.off('SIGHUP', hangUp).kill(process.pid, 'SIGHUP');
  });
  stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
    // `emend diff RUN | head` closes our output early: that is no error. A terminal that was closed fails with EIO.
    const closed = code === 'EPIPE' || (code === 'EIO' && stdout.isTTY);
    if (!closed && unwritten === null)
      stderr.write(`emend: Standard output cannot be written: ${message}\n`);
    unwritten ??= closed ? EXIT.done : EXIT.failed;
    if (closed) hangUp(code === 'EIO' ? 'SIGHUP' : undefined);
  });
  // Nobody is left to tell; what was started is still to be ended.
  stderr.on('error', () => undefined);
  return {
    env,
    cwd: process.cwd(),
    isTty: stdin.isTTY && stdout.isTTY,
    outIsTty: stdout.isTTY,
    errIsTty: stderr.isTTY,
    columns: stdout.isTTY ? stdout.columns || 80 : Infinity,
    colors: pc.createColors(wantsColor(env, stdout.isTTY)),
    write: (text) =>
      void stdout.write(isLog && isObeyed(text) && !leadsToFile(stdout.fd) ? unobeyed(text) : text),
    out: (text) => {
      const shown = text
        .split(COLOR)
        .map((part, n) => (n % 2 === 1 ? part : visible(part)))
        .join('');
      stdout.write(`${isLog ? withoutCommands(shown) : shown}\n`);
    },
    err: (text) => {
      const shown = visible(text);
      stderr.write(`${isLog ? withoutCommands(shown) : shown}\n`);
    },
    command: (text) => void stderr.write(`${visible(text)}\n`),
    readAll: (most_bytes) => readUpTo(most_bytes, stdin),
    ask: async (question, signal) => {
      const lines = createInterface({ input: stdin, output: stdout });
      // While a question is open the terminal is in raw mode: Ctrl-C arrives here and not as a signal.
      lines.on('SIGINT', interrupt);
      const ended = new Promise<null>((resolve) => {
        lines.once('close', () => resolve(null));
      });
      try {
        return await Promise.race([lines.question(question, { signal }).catch(() => null), ended]);
      } finally {
        lines.close();
      }
    },
    key: (question, signal) => readKey(question, signal, interrupt),
    runTool,
    onInterrupt: (handler) => {
      if (interrupts.size === 0) process.on('SIGINT', interrupt).on('SIGTERM', interrupt);
      process.off('SIGHUP', hangUp).on('SIGHUP', hangUp); // To the end: it must not kill what is being ended.
      interrupts.add(handler);
      return () => {
        interrupts.delete(handler);
        if (interrupts.size === 0) process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
      };
    },
    exitNow: (code) => process.exit(code),
  };
};

// `--quiet`: a command prints its result, what waits for a person and what went wrong; not what it does meanwhile, nor what to type next.

export interface QuietFlag {
  readonly quiet?: true;
}
export interface JsonFlag {
  readonly json?: true;
}

/** What `--quiet` leaves out. */
export interface Asides extends Pick<Io, 'out' | 'err'> {
  /** The rest of a line, after what is printed either way. */
  after(text: string): string;
}

export const asides = ({ out, err }: Pick<Io, 'out' | 'err'>, { quiet }: QuietFlag): Asides =>
  quiet === true
    ? { out: () => undefined, err: () => undefined, after: () => '' }
    : { out, err, after: (text) => text };
