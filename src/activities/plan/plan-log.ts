/**
 * The log of plans, `<store>/logs/plan.log`: every check, trigger, replan and loop stop in a line, at most 10 MB and four older files. It
 * is for reading and grepping, one for all machines of a store; the archive is what everything is told from. A log that cannot be written
 * stops no run.
 */
import {
  appendFileSync,
  closeSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { dirname } from 'node:path';
import type { EventOf, EventType, StepEvent } from '../../shared/events.js';
import type { StepKey } from '../../shared/ids.js';
import type { Archive, ArchiveEntry } from '../../stores/ports.js';

// bound: Events of a plan's log that this process remembers, so that a retried activity does not log them again.
const REMEMBERED_LOG_LINES = 10_000;
// bound: The end of that log, in which a retry after a worker's restart looks for its lines: several hundred of them.
export const PLAN_LOG_TAIL_BYTES = 65_536;

// Events of plans as lines of the plan log, which grep and log readers take apart: `[2026-01-02 03:04:05] KIND: name=value ...`. Pure.

export type LogFields = Readonly<Record<string, string | number | boolean | null>>;
export interface LogLine {
  readonly kind: string;
  readonly fields: LogFields;
}

const line = (kind: string, fields: LogFields): LogLine => ({ kind, fields });
/** Other events are no lines of this log. */
const LINES: { readonly [N in EventType]?: (event: EventOf<N>) => LogLine } = {
  complexity_checked: ({ phase, score, threshold, method, above, expanded }) => {
    const recommendation = above.length > 0 && !expanded ? 'expand' : 'keep';
    const agent_invoked = method !== 'threshold';
    return line('COMPLEXITY_CHECK', { phase, score, threshold, agent_invoked, recommendation });
  },
  score_discrepancy: ({ phase, threshold, agent }) =>
    line('COMPLEXITY_DISCREPANCY', { phase, threshold_score: threshold, agent_score: agent }),
  replan_triggered: ({ phase, trigger, replans, limit, status }) =>
    line('REPLAN_TRIGGER', { phase, trigger, replan_count: `${replans}/${limit}`, status }),
  replanned: ({ phase, action, oldStructure, newStructure, duration_ms }) =>
    line('REPLAN_SUCCESS', {
      phase,
      action,
      old_structure: oldStructure,
      new_structure: newStructure,
      duration: `${Math.round(duration_ms / 1000)}s`,
    }),
  replan_failed: ({ phase, trigger, why }) =>
    line('REPLAN_FAILURE', { phase, trigger, reason: why }),
  phase_failed: ({ phase, run, kind, consecutive }) => {
    const error_type = kind ?? 'unknown';
    return line('TEST_FAILURE', {
      phase,
      iteration: run,
      error_type,
      consecutive_failures: consecutive,
    });
  },
  loop_stopped: ({ phase, replans, limit, status }) =>
    line('LOOP_PREVENTION', {
      phase,
      replan_count: `${replans}/${limit}`,
      status,
      action: status === 'forced_override' ? 'replan' : 'escalate',
    }),
  scope_drift: ({ phase, by, text }) => line('SCOPE_DRIFT', { phase, by, description: text }),
  revision_wanted: ({ phase, by, text }) =>
    line('REVISION_WANTED', { phase, by, description: text }),
};
const planLine = <T extends EventType>(event: EventOf<T>): LogLine | undefined =>
  LINES[event.type]?.(event);

const named = ({ kind, fields }: LogLine, plan: string): LogLine => ({
  kind,
  fields: { ...fields, plan },
});

/** Values with blanks stand in quotes; nothing in them ends the line. */
function textOfLine(at: number, { kind, fields }: LogLine): string {
  const time = new Date(at).toISOString().slice(0, 19).replace('T', ' ');
  const shown = Object.entries(fields).map(([name, value]) => {
    const text = String(value).replace(/\p{Cc}/gu, ' ');
    return `${name}=${/[\s"=]/.test(text) ? JSON.stringify(text) : text}`;
  });
  return `[${time}] ${kind}: ${shown.join(' ')}\n`;
}

export interface LogSize {
  readonly max_bytes: number;
  /** The current one among them. */
  readonly files: number;
}
const SIZE: LogSize = { max_bytes: 10_000_000, files: 5 };

/** Writes a line of text; a file that is full becomes `.1`, and so on. */
export const rotatingFile = (path: string, { max_bytes, files }: LogSize = SIZE) => ({
  write: (text: string): void => {
    try {
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
      const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
      if (size > 0 && size + Buffer.byteLength(text) > max_bytes) rotate(path, files);
      appendFileSync(path, text, { mode: 0o600 });
    } catch {
      // A full disk: the archive tells what this log would.
    }
  },
});

function rotate(path: string, files: number): void {
  const nth = (n: number): string => (n === 0 ? path : `${path}.${n}`);
  rmSync(nth(files - 1), { force: true });
  for (let n = files - 2; n >= 0; n -= 1)
    if (statSync(nth(n), { throwIfNoEntry: false })) renameSync(nth(n), nth(n + 1));
}

/** The last lines of the log and, where it was rotated a moment ago, of the file before it. */
function lastLines(path: string): ReadonlySet<string> {
  const lines = new Set<string>();
  for (const name of [path, `${path}.1`]) {
    try {
      const file = openSync(name, 'r');
      try {
        const size = statSync(name).size;
        const bytes = Buffer.alloc(Math.min(size, PLAN_LOG_TAIL_BYTES));
        const read = readSync(file, bytes, 0, bytes.length, size - bytes.length);
        for (const line of bytes.toString('utf8', 0, read).split('\n')) lines.add(`${line}\n`);
      } finally {
        closeSync(file);
      }
    } catch {
      // Not there yet, or not to be read: then a line may stand there twice, which stops nothing.
    }
  }
  return lines;
}

interface Due {
  /** Of the entry. */
  readonly id: string;
  readonly key: string;
  readonly at: number;
  readonly line: LogLine;
}

/**
 * Returns the archive, with a line in the log for each event of a plan. Each event gets one line, also if another process made it: what
 * the archive and the end of the log had before was written already. An event that only the archive knows gets its line now, as a
 * worker may have died between the two.
 */
export function withPlanLog(archive: Archive, path: string): Archive {
  const log = new PlanLog(archive, path);
  return {
    ...archive,
    append: async (stepKey, entries, sync) => {
      const due = await log.dueLines(stepKey, entries);
      const before = await log.writtenBefore(stepKey, due);
      await archive.append(stepKey, entries, sync);
      log.write(due, before);
    },
  };
}

class PlanLog {
  private readonly archive: Archive;
  private readonly path: string;
  private readonly file: ReturnType<typeof rotatingFile>;
  private readonly names = new Map<StepKey, string | null>();
  private readonly seen = new Set<string>();

  constructor(archive: Archive, path: string) {
    this.archive = archive;
    this.path = path;
    this.file = rotatingFile(path);
  }

  /** Returns the lines of the events among the entries that this process has not written. */
  async dueLines(stepKey: StepKey, entries: readonly ArchiveEntry[]): Promise<readonly Due[]> {
    const due = entries.flatMap(({ id, kind, data }): readonly Due[] => {
      if (kind !== 'event') return [];
      const event = data as StepEvent;
      const line = planLine(event);
      const key = `${stepKey} ${id}`;
      return line === undefined || this.seen.has(key) ? [] : [{ id, key, at: event.at, line }];
    });
    const plan = due.length === 0 ? null : await this.nameOf(stepKey, entries);
    // The name is the last column, so that readers of the other columns find them where they were.
    return plan === null ? due : due.map((entry) => ({ ...entry, line: named(entry.line, plan) }));
  }

  /** Returns the keys of the lines that the log has. Two plans may have the same line in the same second: the archive knows whose it is. */
  async writtenBefore(stepKey: StepKey, due: readonly Due[]): Promise<ReadonlySet<string>> {
    if (due.length === 0) return new Set();
    const lines = lastLines(this.path);
    const found = due.filter(({ at: time_ms, line }) => lines.has(textOfLine(time_ms, line)));
    if (found.length === 0) return new Set();
    const archived = new Set((await this.archive.read(stepKey)).map(({ id }) => id));
    return new Set(found.filter(({ id }) => archived.has(id)).map(({ key }) => key));
  }

  /** Writes the lines that are not in `before`. One call may have an entry twice, so each is looked up again. */
  write(due: readonly Due[], before: ReadonlySet<string>): void {
    for (const { key, at: time_ms, line } of due) {
      if (this.seen.has(key)) continue;
      if (this.seen.size >= REMEMBERED_LOG_LINES) {
        this.seen.clear();
        this.names.clear();
      }
      this.seen.add(key);
      if (!before.has(key)) this.file.write(textOfLine(time_ms, line));
    }
  }

  /** Returns the plan that the first event of the run names. Another machine may have archived it. */
  private async nameOf(stepKey: StepKey, entries: readonly ArchiveEntry[]): Promise<string | null> {
    const known = this.names.get(stepKey);
    if (known !== undefined) return known;
    const events = [...entries, ...(await this.archive.read(stepKey))].flatMap(({ kind, data }) =>
      kind === 'event' ? [data as StepEvent] : [],
    );
    const name = events.find((event) => event.type === 'plan_started')?.plan ?? null;
    this.names.set(stepKey, name);
    return name;
  }
}
