/**
 * Marks of transactions that may be open, so that a start looks into the folders of these runs alone, and not of 100,000: an empty file
 * `<step key>.<attempt>` for each attempt, made before the attempt writes its plan, and removed when nothing of its record is left to do. Marks
 * are not synced. So they count only in the boot in which all folders were looked through once (`complete`), and for this very directory of
 * transactions. Without them, all folders are looked through.
 */
import { join } from 'node:path';
import { isStepKey, type StepKey } from '../../shared/ids.js';
import { isRecord } from '../../shared/text.js';
import { homePaths } from '../../stores/home.js';
import { jsonOf, makingDir, orNull, unlinkIfThere, writeTemp } from '../../system/durable.js';
import { ABSENT } from '../../system/given-file.js';
import { errnoOf, type Sys } from '../../system/sys.js';

const OLD_MARK_MS = 3_600_000; // bound: An attempt has written its plan by this time: an older mark of a record at rest is one of a dead process.
const NAME = /^([0-9a-z-]+)\.[0-9a-f]+$/;
const NO_BYTES = new Uint8Array();

interface MarksOptions {
  readonly sys: Sys;
  readonly home: string;
  /** Of this process, or `-`: without one, marks never count. */
  readonly boot: string;
}
/** Which marks count: those of this boot, for this directory. */
interface Complete {
  readonly boot: string;
  readonly directory: string;
}

export type OpenMarks = ReturnType<typeof createMarks>;

export const createMarks = ({ sys, home, boot }: MarksOptions) => {
  const { transactions, index } = homePaths(home);
  const dir = join(index, 'transactions');
  const complete = join(dir, 'complete');
  /** Names of the marks that this process has made. */
  const own = new Set<string>();
  const nameOf = (stepKey: StepKey, attempt: string): string => `${stepKey}.${attempt}`;

  const list = async (): Promise<readonly string[]> =>
    ((await orNull(sys.readdir(dir), ABSENT)) ?? []).filter((name) => stepOf(name) !== null);

  const current = async (): Promise<Complete | null> => {
    const stat = await orNull(sys.stat(transactions), ABSENT);
    return boot === '-' || stat === null ? null : { boot, directory: stat.id };
  };

  return {
    /** Marks the step before an attempt changes its record. Throws an errno error if it cannot, and marks would count without it. */
    add: async (stepKey: StepKey, attempt: string): Promise<void> => {
      const name = nameOf(stepKey, attempt);
      if (own.has(name)) return;
      const path = join(dir, name);
      try {
        await makingDir(sys, path, () => sys.append(path, NO_BYTES, 'with_next_append'));
        own.add(name);
      } catch (error) {
        if (errnoOf(error) === null) throw error;
        await orNull(sys.unlink(complete), ABSENT);
      }
    },

    /** Removes the mark of an attempt that has ended, if it made one and `isAtRest`. A mark that stays does no harm. */
    end: async (
      stepKey: StepKey,
      attempt: string,
      isAtRest: () => Promise<boolean>,
    ): Promise<void> => {
      const name = nameOf(stepKey, attempt);
      if (!own.delete(name)) return;
      try {
        if (await isAtRest()) await unlinkIfThere(sys, join(dir, name));
      } catch {
        // The next start looks at the record.
      }
    },

    /** The steps that may have open transactions; null: all may. */
    steps: async (): Promise<readonly StepKey[] | null> => {
      try {
        const bytes = await orNull(sys.readFile(complete), ABSENT);
        const expected = await current();
        const value = bytes === null ? null : jsonOf(new TextDecoder().decode(bytes));
        const counts =
          expected !== null &&
          isRecord(value) &&
          value.boot === expected.boot &&
          value.directory === expected.directory;
        return counts ? [...new Set((await list()).flatMap((name) => stepOf(name) ?? []))] : null;
      } catch (error) {
        if (errnoOf(error) === null) throw error;
        return null;
      }
    },

    /** Notes that all folders were looked through and that every step with an open transaction has a mark. */
    complete: async (): Promise<void> => {
      const value = await current();
      if (value === null) return;
      const bytes = new TextEncoder().encode(JSON.stringify(value));
      try {
        await sys.rename(await writeTemp(sys, complete, bytes, {}), complete);
      } catch (error) {
        // The next start looks through all folders again.
        if (errnoOf(error) === null) throw error;
      }
    },

    /** Removes old marks of steps of which nothing is left to do. */
    dropOld: async (isAtRest: (stepKey: StepKey) => Promise<boolean>): Promise<void> => {
      const before_ns = BigInt(Date.now() - OLD_MARK_MS) * 1_000_000n;
      for (const name of await list()) {
        const stat = await orNull(sys.stat(join(dir, name)));
        const isOld = stat !== null && stat.changed_ns < before_ns;
        if (isOld && (await isAtRest(stepOf(name) ?? '')))
          await unlinkIfThere(sys, join(dir, name));
      }
    },
  };
};

/** Null: it is the name of no mark. */
const stepOf = (name: string): StepKey | null => {
  const [, stepKey] = NAME.exec(name) ?? [];
  return isStepKey(stepKey) ? stepKey : null;
};
