/** Swaps a directory for a link and back in a tight loop, until it is ended: `node swap-child.js DIRECTORY TARGET`. */
import { renameSync, rmSync, symlinkSync, writeSync } from 'node:fs';

const [, , directory, target] = process.argv;
const aside = `${directory}.aside`;

/** The path may be taken meanwhile by a directory that the other process makes, and fills while it is removed. */
const untilFree = (change) => {
  for (;;) {
    try {
      rmSync(directory, { recursive: true, force: true });
      return change();
    } catch (error) {
      if (!['EEXIST', 'ENOTEMPTY'].includes(error.code)) throw error;
    }
  }
};

renameSync(directory, aside);
writeSync(1, 'swaps\n');
for (;;) {
  untilFree(() => symlinkSync(target, directory));
  untilFree(() => renameSync(aside, directory));
  renameSync(directory, aside);
}
