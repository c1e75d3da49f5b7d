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
import { makingDir, orNull, unlinkIfThere, writeTemp } from '../../system/durable.js';
import { jsonOf } from '../../system/json.js';
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

export class OpenMarks {
  readonly #sys: Sys;
  readonly #boot: string;
  readonly #transactions: string;
  readonly #dir: string;
  readonly #complete: string;
  /** Names of the marks that this process has made. */
  readonly #own = new Set<string>();

  constructor({ sys, home, boot }: MarksOptions) {
    const { transactions, index } = homePaths(home);
    this.#sys = sys;
    this.#boot = boot;
    this.#transactions = transactions;
    this.#dir = join(index, 'transactions');
    this.#complete = join(this.#dir, 'complete');
  }

  /**
   * Marks the step before an attempt changes its record. False: it cannot, so marks do not count until all folders were looked through again.
   * Throws an errno error if they would still count.
   */
  async add(stepKey: StepKey, attempt: string): Promise<boolean> {
    const name = nameOf(stepKey, attempt);
    if (this.#own.has(name)) return true;
    const path = join(this.#dir, name);
    try {
      await makingDir(this.#sys, path, () => this.#sys.append(path, NO_BYTES, 'with_next_append'));
      this.#own.add(name);
      return true;
    } catch (error) {
      if (errnoOf(error) === null) throw error;
      await orNull(this.#sys.unlink(this.#complete), ABSENT);
      return false;
    }
  }

  /** Removes the mark of an attempt that has ended, if it made one and `isAtRest`. A mark that stays does no harm. */
  async end(stepKey: StepKey, attempt: string, isAtRest: () => Promise<boolean>): Promise<void> {
    const name = nameOf(stepKey, attempt);
    if (!this.#own.delete(name)) return;
    try {
      if (await isAtRest()) await unlinkIfThere(this.#sys, join(this.#dir, name));
    } catch {
      // The next start looks at the record.
    }
  }

  /** The steps that may have open transactions; null: all may. */
  async steps(): Promise<readonly StepKey[] | null> {
    try {
      const bytes = await orNull(this.#sys.readFile(this.#complete), ABSENT);
      const current = await this.#current();
      const noted = bytes === null ? null : jsonOf(new TextDecoder().decode(bytes));
      const counts =
        current !== null &&
        isRecord(noted) &&
        noted.boot === current.boot &&
        noted.directory === current.directory;
      return counts
        ? [...new Set((await this.#list()).flatMap((name) => stepOf(name) ?? []))]
        : null;
    } catch (error) {
      if (errnoOf(error) === null) throw error;
      return null;
    }
  }

  /** Notes that all folders were looked through and that every step with an open transaction has a mark. */
  async noteComplete(): Promise<void> {
    const current = await this.#current();
    if (current === null) return;
    const bytes = new TextEncoder().encode(JSON.stringify(current));
    try {
      const temp = await writeTemp(this.#sys, this.#complete, bytes, {});
      await this.#sys.rename(temp, this.#complete);
    } catch (error) {
      // The next start looks through all folders again.
      if (errnoOf(error) === null) throw error;
    }
  }

  /** Removes old marks of steps of which nothing is left to do. */
  async dropOld(isAtRest: (stepKey: StepKey) => Promise<boolean>): Promise<void> {
    const before_ns = BigInt(Date.now() - OLD_MARK_MS) * 1_000_000n;
    for (const name of await this.#list()) {
      const path = join(this.#dir, name);
      const stat = await orNull(this.#sys.stat(path));
      const isOld = stat !== null && stat.changed_ns < before_ns;
      if (isOld && (await isAtRest(stepOf(name) ?? ''))) await unlinkIfThere(this.#sys, path);
    }
  }

  async #list(): Promise<readonly string[]> {
    const names = (await orNull(this.#sys.readdir(this.#dir), ABSENT)) ?? [];
    return names.filter((name) => stepOf(name) !== null);
  }

  /** Null: marks never count here. */
  async #current(): Promise<Complete | null> {
    const stat = await orNull(this.#sys.stat(this.#transactions), ABSENT);
    return this.#boot === '-' || stat === null ? null : { boot: this.#boot, directory: stat.id };
  }
}

const nameOf = (stepKey: StepKey, attempt: string): string => `${stepKey}.${attempt}`;

/** Null: it is the name of no mark. */
const stepOf = (name: string): StepKey | null => {
  const [, stepKey] = NAME.exec(name) ?? [];
  return isStepKey(stepKey) ? stepKey : null;
};
