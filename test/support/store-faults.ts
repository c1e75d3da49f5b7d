/** Faults of a disk, one after the other at every system call of some work on a store. */
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import { ProblemError } from '../../src/shared/problems.js';
import { realSys, type Sys } from '../../src/system/sys.js';
import { sampled } from './seeded.js';
import { errnoError, shimSys, type ShimPlan, type SysCall } from './sys-shim.js';

type Fault = Omit<ShimPlan, 'at'> & { readonly errno: string };

const errno = (
  code: string,
  when: ShimPlan['when'] = 'before',
  more: Partial<Fault> = {},
): Fault => ({
  errno: code,
  when,
  fault: { errno: code },
  only: WRITES,
  ...more,
});
const torn = { fault: { errno: 'ENOSPC', short: true } } as const;

/** Calls that change what is on the disk, or make it durable. */
const WRITES: readonly SysCall[] = [
  'writeExclusive',
  'copyExclusive',
  'append',
  'rename',
  'link',
  'unlink',
  'mkdir',
  'rmdir',
  'touch',
  'fsyncDir',
];
const APPENDS: readonly SysCall[] = ['append'];

/** `after`: the call was made and its answer lost; `torn`: half of the bytes are there; `onwards`: the disk stays broken. */
export const FAULTS: readonly (readonly [name: string, Fault])[] = [
  ['ENOSPC', errno('ENOSPC')],
  ['ENOSPC, torn', errno('ENOSPC', 'before', torn)],
  ['ENOSPC, torn, onwards', errno('ENOSPC', 'before', { ...torn, onwards: true })],
  ['EIO', errno('EIO')],
  ['EIO, after', errno('EIO', 'after')],
  ['EACCES', errno('EACCES')],
  ['EROFS, onwards', errno('EROFS', 'before', { onwards: true })],
];
/** A disk that fills up takes a part of an append and says how much. */
export const SHORT_WRITES: typeof FAULTS = [
  ['short write', { errno: 'ENOSPC', when: 'before', fault: 'half', only: APPENDS }],
  [
    'short writes, onwards',
    { errno: 'ENOSPC', when: 'before', fault: 'half', only: APPENDS, onwards: true },
  ],
];

/** A filesystem without hard links. */
export const noLinks: Sys = {
  ...realSys,
  link: (_, path) => Promise.reject(errnoError('EPERM', 'link', path)),
};

/** Memory where the system has it: faults are planted here, and syncing a disk some ten thousand times takes minutes. */
const scratch = fs.existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

/** One store with something in it already, and work on it. */
export interface StoreWork {
  readonly real?: Sys;
  /** What was recorded before the fault. */
  readonly prepare: (dir: string) => Promise<void>;
  /** The work. Calls `told` as soon as the store has said that something is stored. */
  readonly act: (sys: Sys, dir: string, told: (what: string) => void) => Promise<void>;
  /** Reads the store on a sound disk: what was there and what was told is whole, and nothing torn is read as whole. */
  readonly check: (dir: string, told: readonly string[]) => Promise<void>;
}

/** What a failed system call may look like to whoever uses a store: a problem that says which errno, and where. */
const reasonOf = (error: unknown, code: string, dir: string, at: number): void => {
  if (!(error instanceof ProblemError))
    throw new Error(`at ${at}: no problem but ${String(error)}`, { cause: error });
  expect({ at, code: error.problem.code }).toEqual({ at, code: 'disk' });
  expect(error.message).toContain(code);
  expect(error.message).toContain(dir);
};

/**
 * The fault at every write of the work (a seeded sample of `count` for each fault without EMEND_LONG). Each time: it fired; the work succeeds
 * or fails with its reason; `check` holds; the same work on a sound disk succeeds, and `check` holds again.
 * Returns how often it fired, and how often the work failed by it.
 */
export const atEachCall = async (
  name: string,
  { errno: code, ...plan }: Fault,
  work: StoreWork,
  count = 2,
) => {
  const real = work.real ?? realSys;
  const made = fs.realpathSync(fs.mkdtempSync(join(scratch, 'emend faults-')));
  const dir = join(made, 'now');
  const before = join(made, 'before');
  const inDir = async (use: () => Promise<void>): Promise<void> => {
    fs.cpSync(before, dir, { recursive: true });
    try {
      await use();
    } finally {
      fs.rmSync(dir, { recursive: true, force: true });
    }
  };
  try {
    // In the same place: what is kept of a directory may be named after its path.
    fs.mkdirSync(dir);
    await work.prepare(dir);
    fs.renameSync(dir, before);
    let calls = 0;
    await inDir(async () => {
      const counting = shimSys(real, { ...plan, at: 0 });
      const told: string[] = [];
      await work.act(counting.sys, dir, (what) => told.push(what));
      await work.check(dir, told);
      calls = counting.calls();
    });
    const chosen = sampled(
      `faults of ${name}`,
      Array.from({ length: calls }, (_, i) => i + 1),
      count,
    );
    const tally = { calls, fired: 0, failed: 0 };
    for (const at of chosen)
      await inDir(async () => {
        const went = await faultAt(name, dir, { ...plan, at }, code, work);
        tally.fired += went.fired ? 1 : 0;
        tally.failed += went.failed ? 1 : 0;
      });
    expect({ name, fired: tally.fired }).toEqual({ name, fired: chosen.length });
    return tally;
  } finally {
    fs.rmSync(made, { recursive: true, force: true });
  }
};

/** The work with its fault in one directory, what can be read then, and the work again on a sound disk. */
const faultAt = async (
  name: string,
  dir: string,
  plan: ShimPlan,
  code: string,
  work: StoreWork,
) => {
  const real = work.real ?? realSys;
  const shim = shimSys(real, plan);
  const told: string[] = [];
  let failed = false;
  try {
    await work.act(shim.sys, dir, (what) => told.push(what));
  } catch (error) {
    reasonOf(error, code, dir, plan.at);
    failed = true;
  }
  try {
    await work.check(dir, told);
    const again: string[] = [];
    await work.act(real, dir, (what) => again.push(what));
    await work.check(dir, again);
  } catch (error) {
    const call = String(shim.names()[plan.at - 1]);
    throw new Error(`${name}, at call ${plan.at} (${call}): ${String(error)}`, { cause: error });
  }
  return { fired: shim.fired(), failed };
};
