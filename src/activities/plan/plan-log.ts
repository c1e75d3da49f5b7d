/**
 * The log of plans, `<home>/logs/plan.log`: every check, trigger, replan and loop stop in a line, at most 10 MB and four older files. It
 * is for reading and grepping; the archive is what everything is told from. A log that cannot be written stops no run.
 */
import { appendFileSync, mkdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { pino } from 'pino';
import type { StepEvent } from '../../shared/events.js';
import type { Archive } from '../../workspace/types.js';
import { planLine, textOfLine } from './log-line.js';
import type { LogLine } from './log-line.js';
import { STORE_BOUNDS } from '../../shared/bounds.js';

export interface LogSize {
  readonly max_bytes: number;
  /** The current one among them. */
  readonly files: number;
}
const SIZE: LogSize = { max_bytes: 10_000_000, files: 5 };

interface PinoLine extends LogLine {
  readonly at: number;
}

/** A stream for pino: its JSON becomes the line; a file that is full becomes `.1`, and so on. */
export const rotatingFile = (path: string, { max_bytes, files }: LogSize = SIZE): { write(json: string): void } => ({
  write: (json) => {
    try {
      const { at, kind, fields } = JSON.parse(json) as PinoLine;
      const text = textOfLine(at, { kind, fields });
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

/** The archive, with a line in the log for each event of a plan that is new to it. */
export function withPlanLog(archive: Archive, path: string): Archive {
  const logger = pino({ base: null, timestamp: false, messageKey: 'kind' }, rotatingFile(path));
  const seen = new Set<string>();
  return {
    ...archive,
    append: async (stepKey, entries) => {
      await archive.append(stepKey, entries);
      for (const { id, kind, data } of entries) {
        if (kind !== 'event') continue;
        const event = data as StepEvent;
        const line = planLine(event);
        const key = `${stepKey} ${id}`;
        if (line === null || seen.has(key)) continue;
        if (seen.size >= STORE_BOUNDS.rememberedLogLines) seen.clear();
        seen.add(key);
        logger.info({ at: event.at, fields: line.fields }, line.kind);
      }
    },
  };
}
