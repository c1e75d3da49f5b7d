/** A terminal of the test's: what was printed, and answers that were typed beforehand. */
import type { Io } from '../../src/cli/io.js';
import pc from 'picocolors';

export interface FakeIo extends Omit<Io, 'ask' | 'key'> {
  readonly printed: { out: string; err: string };
  readonly asked: string[];
  /** Pagers and editors that were run, with what they got. */
  readonly tools: { command: string; args: readonly string[]; text: string | null }[];
  /** Replaceable, for a person who does not answer. */
  ask: Io['ask'];
  key: Io['key'];
  interrupt(): void;
}

export const fakeIo = (
  more: {
    isTty?: boolean;
    columns?: number;
    env?: Io['env'];
    cwd?: string;
    typed?: (string | null)[];
    stdin?: Uint8Array;
    tool?: (args: readonly string[]) => number;
  } = {},
): FakeIo => {
  const printed = { out: '', err: '' };
  const asked: string[] = [];
  const tools: FakeIo['tools'] = [];
  const typed = [...(more.typed ?? [])];
  const handlers = new Set<() => void>();
  const isTty = more.isTty ?? false;
  const ask: Io['ask'] = async (question) => {
    asked.push(question);
    return typed.shift() ?? null;
  };
  return {
    printed,
    asked,
    tools,
    runTool: async (command, args, text) => {
      tools.push({ command, args, text });
      return more.tool?.(args) ?? 0;
    },
    env: more.env ?? {},
    cwd: more.cwd ?? '/',
    isTty,
    outIsTty: isTty,
    errIsTty: isTty,
    columns: more.columns ?? (isTty ? 100 : Infinity),
    colors: pc.createColors(false),
    write: (text) => {
      printed.out += typeof text === 'string' ? text : Buffer.from(text).toString('latin1');
    },
    out: (text) => {
      printed.out += `${text}\n`;
    },
    err: (text) => {
      printed.err += `${text}\n`;
    },
    command: (text) => {
      printed.err += `${text}\n`;
    },
    readAll: async (most_bytes) => {
      const bytes = more.stdin ?? new Uint8Array(0);
      return bytes.length > most_bytes ? null : bytes;
    },
    ask,
    key: ask,
    onInterrupt: (handler) => {
      handlers.add(handler);
      return () => handlers.delete(handler);
    },
    exitNow: () => {
      throw new Error('a test must not end the process');
    },
    interrupt: () => {
      for (const handler of handlers) handler();
    },
  };
};
