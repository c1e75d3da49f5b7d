/**
 * Traps: what shall happen to a worker at a named moment of an activity. A trap is a file that all workers read (worker.js); the one
 * that comes there first creates `<id>.fired`, so that each trap springs once and leaves evidence that outlives its victim.
 */
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TestSubject } from '../../src/shared/test-activities.js';

export interface Trap {
  /** Null: any activity. */
  readonly activity: string | null;
  /** Null: any step. */
  readonly stepKey: string | null;
  /** What tests run on; absent: anything. */
  readonly on?: TestSubject['kind'];
  readonly at:
    | { readonly moment: 'before' | 'after' }
    /** So long after the activity began; at its end where it was quicker. */
    | { readonly moment: 'delay'; readonly ms: number }
    /** Before its n-th system call that fits; at its end where there were fewer, unless `strict`. */
    | {
        readonly moment: 'call';
        readonly n: number;
        readonly only?: readonly string[];
        /** Part of one of the call's paths. */
        readonly path?: string;
        /** `wait` and `fail` always are. */
        readonly strict?: true;
      };
  readonly does:
    | { readonly kind: 'kill' | 'stop' }
    /** Half of the call's bytes are written, then SIGKILL. */
    | { readonly kind: 'tear' }
    /** Holds the call until `go` is given: somebody else acts meanwhile. */
    | { readonly kind: 'wait' }
    /** Its first git at or after the moment is a program that neither ends nor heeds SIGTERM. */
    | { readonly kind: 'hang git' }
    /** This call and the next fitting ones of the activity fail. */
    | { readonly kind: 'fail'; readonly errno: string; readonly times: number };
}
export interface Sprung {
  readonly id: string;
  readonly pid: number;
  readonly activity: string;
  readonly stepKey: string;
  /** The system call or the moment. */
  readonly where: string;
  readonly does: Trap['does']['kind'];
}
export interface ArmedTrap {
  readonly id: string;
  sprung(): Sprung | null;
  /** For `wait`. */
  go(): void;
  disarm(): void;
}
/** Whom it struck, and where: a trap without a stepKey meets whichever step comes first, not always its carrier's. */
export const struck = (trap: ArmedTrap | null): string | null => {
  const sprung = trap?.sprung() ?? null;
  return sprung && `${sprung.activity} of ${sprung.stepKey.slice(0, 8)}: ${sprung.where}`;
};
export interface Traps {
  readonly dir: string;
  arm(name: string, trap: Trap): ArmedTrap;
  all(): readonly Sprung[];
  /** The clock of each worker is `ms` ahead for `for_ms`; how many saw it. */
  setClock(ms: number, for_ms: number): Promise<number>;
}

export const createTraps = (dir: string): Traps => {
  mkdirSync(dir, { recursive: true });
  let count = 0;
  const read = (id: string): Sprung | null => {
    try {
      return JSON.parse(readFileSync(join(dir, `${id}.fired`), 'utf8')) as Sprung;
    } catch {
      // Not sprung, or not written to its end yet.
      return null;
    }
  };
  return {
    dir,
    arm: (name, trap) => {
      const id = `${++count}-${name.replaceAll(/[^a-z0-9]+/gi, '-')}`;
      const path = join(dir, `${id}.json`);
      writeFileSync(`${path}.new`, JSON.stringify({ id, ...trap }));
      renameSync(`${path}.new`, path);
      return {
        id,
        sprung: () => read(id),
        go: () => {
          writeFileSync(join(dir, `${id}.go`), '');
        },
        disarm: () => {
          rmSync(path, { force: true });
        },
      };
    },
    setClock: async (ms, for_ms) => {
      const path = join(dir, 'clock');
      writeFileSync(`${path}.new`, String(ms));
      renameSync(`${path}.new`, path);
      await sleep(for_ms);
      rmSync(path);
      return readdirSync(dir).filter((name) => name.startsWith('clock-seen-')).length;
    },
    all: () =>
      existsSync(dir)
        ? readdirSync(dir)
            .filter((name) => name.endsWith('.fired'))
            .map((name) => read(name.slice(0, -'.fired'.length)))
            .filter((sprung) => sprung !== null)
        : [],
  };
};
