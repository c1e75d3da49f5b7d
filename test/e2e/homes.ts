/**
 * Two homes on one store, for `npm run test:cluster` (EMEND_TEST_HOMES=2): every worker process of a scene then holds two workers, the
 * second under a home of its own. Workflows and model calls go to either, files, tests and git to the first, whose runs they are.
 */
import { appendFileSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Variables of a scene in `dir`; none unless two homes are asked for. */
export const homesOf = (dir: string): Record<string, string> =>
  process.env.EMEND_TEST_HOMES === '2'
    ? { EMEND_STORE: join(dir, 'store'), EMEND_TEST_SECOND_HOME: join(dir, 'home-2') }
    : {};

/** Counts which activities each home's worker carried out, for the runner's summary. */
export const noteShares = (dir: string): void => {
  const { EMEND_TEST_HOMES: homes, EMEND_TEST_SHARES: file } = process.env;
  if (homes !== '2' || file === undefined) return;
  const second = hostOf(join(dir, 'home-2'));
  const counts = { first: 0, second: 0 };
  for (const path of logsUnder(join(dir, 'store', 'archive'))) {
    const activities = readFileSync(path, 'utf8').match(/"kind":"activity"/g)?.length ?? 0;
    counts[second !== null && path.endsWith(`log-${second}.jsonl`) ? 'second' : 'first'] +=
      activities;
  }
  appendFileSync(file, `${JSON.stringify(counts)}\n`);
};

export const hostIdOf = (home: string): string =>
  readFileSync(join(home, 'host-id'), 'utf8').trim().replace(/^\d+ /, '');

const hostOf = (home: string): string | null => {
  try {
    return hostIdOf(home);
  } catch {
    return null;
  }
};

const logsUnder = (archive: string): readonly string[] => {
  try {
    return readdirSync(archive, { recursive: true })
      .map((path) => join(archive, String(path)))
      .filter((path) => path.endsWith('.jsonl'));
  } catch {
    return [];
  }
};
