import { bytesOf, filesOf, findUnused, removeUnused, type Unused } from '../../client/gc/index.js';
import { fail } from '../../shared/problems.js';
import type { Io, JsonFlag } from '../io.js';
import { printJson } from '../json.js';
import { count, plain } from '../render/text.js';
import { withEmend } from '../session.js';

const GC_MIN_AGE_MS = 3_600_000; // bound: `emend gc` takes nothing younger: whoever wrote it may be about to name it.

interface GcFlags extends JsonFlag {
  readonly dryRun?: true;
  readonly olderThan: string;
  readonly archivesOlderThan?: string;
  readonly assumeClosed: readonly string[];
}
const DAY_MS = 86_400_000;

const daysOf = (flag: string, text: string): number => {
  const days = Number(text);
  if (text.trim() !== '' && days >= 0) return days;
  return fail('usage', `${flag} expected a number of days, received "${text}".`);
};

export const gc = (io: Io, flags: GcFlags): Promise<void> => {
  // Whoever writes a blob names it soon after, but not at once.
  const olderThan_ms = Math.max(daysOf('--older-than', flags.olderThan) * DAY_MS, GC_MIN_AGE_MS);
  const archives = flags.archivesOlderThan;
  const archivesOlderThan_ms =
    archives === undefined ? null : daysOf('--archives-older-than', archives) * DAY_MS;
  return withEmend(io, async (emend) => {
    const found = await findUnused(emend, {
      olderThan_ms,
      archivesOlderThan_ms,
      assumeClosed: flags.assumeClosed,
    });
    const dry = flags.dryRun === true;
    const { steps, blobs, temps, caches, hosts, layers } = found;
    const all = [...steps.flatMap((step) => step.files), ...blobs, ...temps, ...caches, ...hosts];
    const refs = found.notes.reduce((sum, { names }) => sum + names.length, 0);
    const total = all.length + filesOf(layers);
    const would = { notesRemoved: refs, files: total, bytes: bytesOf(all) + bytesOf(layers) };
    const { notesRemoved, files, bytes } = dry ? would : await removeUnused(emend, found);
    if (flags.json === true)
      printJson(io, 'gc', { v: 1, removed: !dry, notesRemoved, files, bytes, ...found });
    else if (all.length + layers.length + refs === 0) io.out('Nothing to remove.');
    else {
      io.out(
        `${dry ? 'Would remove' : 'Removed'} ${count(files, 'file')}, ${count(bytes, 'byte')}:`,
      );
      for (const line of linesOf(found)) io.out(line);
      for (const { workspace, names } of found.notes)
        io.out(
          `  ${count(names.length, 'note')} of rollbacks in git, of ended runs in ${plain(workspace)}`,
        );
      if (notesRemoved < refs)
        io.out(`  ${count(refs - notesRemoved, 'note')} kept: git could not remove them.`);
      if (files < total)
        io.out(`  ${count(total - files, 'file')} kept: written or read in the meantime.`);
      if (found.isMore) io.out('More files can be removed. Run the command again.');
    }
  });
};

const linesOf = ({ steps, blobs, temps, caches, hosts, layers }: Unused): string[] => {
  const ended = steps.filter((step) => !step.archive);
  const whole = steps.filter((step) => step.archive);
  const lines = [
    [
      ended.length,
      `calls, records and transactions of ${count(ended.length, 'step')}`,
      ended.flatMap((s) => s.files),
    ],
    [
      whole.length,
      `${count(whole.length, 'step')} with archive`,
      whole.flatMap((step) => step.files),
    ],
    [blobs.length, 'contents that nothing refers to', blobs],
    [temps.length, 'temporary files of dead processes', temps],
    [caches.length, 'outlines and test results, made again when needed', caches],
    [hosts.length, 'starts of hosts that are gone', hosts],
  ] as const;
  const listed = lines
    .filter(([there]) => there > 0)
    .map(
      ([, what, files]) =>
        `  ${what}: ${count(files.length, 'file')}, ${count(bytesOf(files), 'byte')}`,
    );
  if (layers.length === 0) return listed;
  const size = `${count(filesOf(layers), 'file')}, ${count(bytesOf(layers), 'byte')}`;
  return [...listed, `  layers of commands and runs that have ended: ${size}`];
};
