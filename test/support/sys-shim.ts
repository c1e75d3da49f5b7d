/** A Sys that counts its calls and, at one of them, kills its own process, throws, tears the write, or lets a person act. */
import { appendFileSync, readlinkSync } from 'node:fs';
import type { Sys } from '../../src/system/sys.js';

export type SysCall = keyof Sys;

export interface ShimPlan {
  /** 1-based number of the call at which the fault fires; 0: never. */
  readonly at: number;
  readonly when: 'before' | 'after';
  /**
   * `kill`: SIGKILL to this process. `tear`: half of the bytes are written, then SIGKILL (calls without bytes: plain kill).
   * An errno: thrown instead of the call (`before`), after it (`after`), or, with `short`, after half of the bytes.
   * `half`: an append takes half of its bytes and says so, as a disk that fills up does (other calls are left alone).
   */
  readonly fault:
    | 'kill'
    | 'tear'
    | 'half'
    | { readonly errno: string; readonly short?: boolean }
    | ((name: SysCall, args: readonly unknown[]) => void | Promise<void>);
  /** Only these calls count; all unless told. */
  readonly only?: readonly SysCall[];
  /** Only calls that name a path below this directory count; all unless told. */
  readonly below?: string;
  /** Fires at every counted call from `at` on, not only there. */
  readonly onwards?: boolean;
  /** A line is appended here, in the faulty process, when the fault fires. */
  readonly log?: string;
}

export interface ShimmedSys {
  readonly sys: Sys;
  readonly calls: () => number;
  /** Names of the counted calls in order. */
  readonly names: () => readonly SysCall[];
  /** Numbers of the counted calls that name a path (as either argument) for which `about` says so. */
  readonly stepsAbout: (about: (path: string) => boolean) => readonly number[];
  readonly fired: () => boolean;
}

export const errnoError = (errno: string, syscall: string, path: unknown): Error =>
  Object.assign(new Error(`${errno}: injected, ${syscall} '${String(path)}'`), {
    code: errno,
    syscall,
    path: String(path),
  });

const WRITES: readonly SysCall[] = ['writeExclusive', 'append', 'copyExclusive'];

/** The path of a file that a transaction reaches through its opened directory; any other path as it is. */
export const shownPath = (path: string): string => {
  const [, fd, name] = /^(\/proc\/self\/fd\/\d+)(?:\/(.*))?$/.exec(path) ?? [];
  if (fd === undefined) return path;
  const directory = readlinkSync(fd);
  return name === undefined ? directory : `${directory}/${name}`;
};
const shownArgs = (args: readonly unknown[]): readonly unknown[] =>
  args.map((arg) => (typeof arg === 'string' ? shownPath(arg) : arg));

export const shimSys = (
  real: Sys,
  plan: ShimPlan = { at: 0, when: 'before', fault: 'kill' },
): ShimmedSys => {
  const names: SysCall[] = [];
  const paths: string[][] = [];
  let fired = false;

  const die = async (): Promise<never> => {
    process.kill(process.pid, 'SIGKILL');
    return new Promise<never>(() => undefined);
  };

  const half = async (name: SysCall, args: readonly unknown[]): Promise<void> => {
    const [path, second] = args;
    const cut = (bytes: Uint8Array) => bytes.subarray(0, Math.floor(bytes.length / 2));
    // Half-written files have their creation mode still: the mode is set last.
    if (name === 'writeExclusive')
      await real.writeExclusive(path as string, cut(second as Uint8Array), { mode: 0o600 });
    if (name === 'append') await real.append(path as string, cut(second as Uint8Array));
    if (name === 'copyExclusive') {
      const bytes = await real.readFile(path as string);
      await real.writeExclusive(second as string, cut(bytes), { mode: 0o600 });
    }
  };

  const fire = async (
    name: SysCall,
    args: readonly unknown[],
    invoke: () => Promise<unknown>,
  ): Promise<unknown> => {
    fired = true;
    if (plan.log !== undefined)
      appendFileSync(
        plan.log,
        `${names.length} ${plan.when} ${name} ${String(shownArgs(args)[0])}\n`,
      );
    const { fault } = plan;
    if (fault === 'kill') {
      // A call that fails by itself must not save the process.
      if (plan.when === 'after') await invoke().catch(() => undefined);
      return die();
    }
    if (fault === 'tear') {
      // A write that fails by itself (its directory is still missing) is torn at its first byte.
      if (WRITES.includes(name)) await half(name, args).catch(() => undefined);
      return die();
    }
    if (fault === 'half') {
      if (name !== 'append') return invoke();
      const bytes = args[1] as Uint8Array;
      return real.append(args[0] as string, bytes.subarray(0, Math.floor(bytes.length / 2)));
    }
    if (typeof fault === 'function') {
      const shown = shownArgs(args);
      if (plan.when === 'before') await fault(name, shown);
      const result = await invoke();
      if (plan.when === 'after') await fault(name, shown);
      return result;
    }
    if (plan.when === 'after') await invoke().catch(() => undefined);
    else if (fault.short === true && WRITES.includes(name)) await half(name, args);
    throw errnoError(fault.errno, name, args[0]);
  };

  const counts = (name: SysCall, named: readonly string[]): boolean => {
    const { only, below } = plan;
    if (only !== undefined && !only.includes(name)) return false;
    return below === undefined || named.some((path) => path.startsWith(`${below}/`));
  };

  const counted =
    (name: SysCall, call: (...args: unknown[]) => Promise<unknown>) =>
    async (...args: unknown[]) => {
      const invoke = () => call(...args);
      const named = shownArgs(args).filter((arg) => typeof arg === 'string');
      if (!counts(name, named)) return invoke();
      names.push(name);
      paths.push(named);
      const due =
        plan.at > 0 && (plan.onwards === true ? names.length >= plan.at : names.length === plan.at);
      return due ? fire(name, args, invoke) : invoke();
    };

  const calls = Object.entries(real) as [SysCall, (...args: unknown[]) => Promise<unknown>][];
  const sys = Object.fromEntries(
    calls.map(([name, call]) => [name, counted(name, call)]),
  ) as unknown as Sys;
  const stepsAbout = (about: (path: string) => boolean) =>
    paths.flatMap((p, i) => (p.some(about) ? [i + 1] : []));
  return { sys, calls: () => names.length, names: () => names, stepsAbout, fired: () => fired };
};
