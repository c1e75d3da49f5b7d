/** Covers descriptors that the process which started Emend left open, so that no child of Emend gets them. Linux only. */
import { openSync, readdirSync, readFileSync } from 'node:fs';

const CLOSED_AT_EXEC = 0o2000000;
let nullDevice: number | null = null;

/** Returns whether a child would get this descriptor. */
const isInherited = (fd: number): boolean => {
  try {
    const info = readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8');
    const flags = /^flags:\s*(\d+)/m.exec(info)?.[1] ?? '0';
    return (Number.parseInt(flags, 8) & CLOSED_AT_EXEC) === 0;
  } catch {
    // It was closed meanwhile, as that of the listing itself.
    return false;
  }
};

/**
 * Returns entries for the `stdio` of a child, for the descriptors from `first` on, which cover each inherited descriptor with /dev/null. An
 * open directory would lead out of any sandbox.
 */
export const coversFrom = (first: number): ('ignore' | number)[] => {
  const inherited = readdirSync('/proc/self/fd')
    .map(Number)
    .filter((fd) => fd >= first && isInherited(fd));
  if (inherited.length === 0) return [];
  nullDevice ??= openSync('/dev/null', 'r');
  const cover = nullDevice;
  return Array.from({ length: Math.max(...inherited) + 1 - first }, (_, index) =>
    inherited.includes(index + first) ? cover : 'ignore',
  );
};
