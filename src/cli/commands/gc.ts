import { findGarbage, removeGarbage } from '../../client/garbage.js';
import { EXIT, fail } from '../../shared/problems.js';
import type { ExitCode } from '../../shared/problems.js';
import type { Io } from '../io.js';
import { count } from '../render/text.js';
import { withEmend } from '../with-emend.js';

interface GcFlags {
  readonly dryRun?: true;
  readonly olderThan: string;
  readonly assumeClosed: readonly string[];
  readonly json?: true;
}
const DAY_MS = 86_400_000;

export const gc = (io: Io, flags: GcFlags): Promise<ExitCode> => {
  const days = Number(flags.olderThan);
  if (flags.olderThan.trim() === '' || !(days >= 0))
    return fail('usage', `--older-than expected a number of days, received "${flags.olderThan}".`);
  return withEmend(io, async (emend) => {
    const found = await findGarbage(emend, days * DAY_MS, flags.assumeClosed);
    const dry = flags.dryRun === true;
    if (!dry) await removeGarbage(found, days * DAY_MS);
    const all = [...found.blobs, ...found.temps];
    const bytes = all.reduce((sum, file) => sum + file.bytes, 0);
    if (flags.json === true) io.out(JSON.stringify({ v: 1, removed: !dry, bytes, ...found }, null, 2));
    else {
      const what = `${count(found.blobs.length, 'stored file')} and ${count(found.temps.length, 'temporary file')}, ${count(bytes, 'byte')}`;
      io.out(all.length === 0 ? 'Nothing to remove.' : `${dry ? 'Would remove' : 'Removed'} ${what}.`);
    }
    return EXIT.done;
  });
};
