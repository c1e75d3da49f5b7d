/** Swaps a directory for a link and back in a tight loop, until it is ended: `node swap-child.js DIRECTORY TARGET`. */
import { mkdirSync, renameSync, rmSync, symlinkSync, writeSync } from 'node:fs';
import { performance } from 'node:perf_hooks';

const [, , directory, target] = process.argv;
const aside = `${directory}.aside`;

/** The path may be taken meanwhile by a directory that the other process makes, and fills while it is removed. */
const untilFree = (change) => {
  for (;;) {
    try {
      rmSync(directory, { recursive: true, force: true });
      return change();
    } catch (error) {
      // What was put aside is gone if the other process had made it and removed it again.
      if (error.code === 'ENOENT') mkdirSync(aside, { recursive: true });
      else if (!['EEXIST', 'ENOTEMPTY'].includes(error.code)) throw error;
    }
  }
};

const MOST_US = 300;
/** The other process is to meet each state for a while. */
const wait = () => {
  const end_ms = performance.now() + (Math.random() * MOST_US) / 1000;
  while (performance.now() < end_ms);
};

/** The other process may have removed the directory when it became empty. */
const putAside = () => {
  try {
    renameSync(directory, aside);
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
    mkdirSync(aside);
  }
};

putAside();
writeSync(1, 'swaps\n');
for (;;) {
  untilFree(() => symlinkSync(target, directory));
  wait();
  untilFree(() => renameSync(aside, directory));
  wait();
  putAside();
}
