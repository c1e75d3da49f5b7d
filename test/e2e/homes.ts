/**
 * Two homes on one store, for `npm run test:cluster` (EMEND_TEST_HOMES=2): every worker process of a scene then holds two workers, the
 * second under a home of its own. Workflows and model calls go to either, files, tests and git to the first, whose runs they are.
 */
import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Emend } from '../../src/client/index.js';
import { printSkipped } from '../support/skipped.js';
import { freshStore, whyNoBucket } from './bucket-store.js';

const ofTwo = process.env.EMEND_TEST_HOMES === '2';

/** Variables of a scene whose test looks into the files of its store: it has one home, and that is the store. */
export const OWN_STORE = { EMEND_STORE: '', EMEND_TEST_SECOND_HOME: '' };

/** Variables of a scene in `dir`; none unless two homes are requested and the scene chooses no store itself. */
export const homesOf = async (
  dir: string,
  chosen: Readonly<Record<string, string>>,
): Promise<Readonly<Record<string, string>>> => {
  if (!ofTwo || chosen.EMEND_STORE !== undefined) return {};
  if (whyNoBucket !== null) {
    printSkipped(`two homes on one store: ${whyNoBucket}`);
    return {};
  }
  return { ...(await freshStore()), EMEND_TEST_SECOND_HOME: join(dir, 'home-2') };
};

/** Returns the names of the activities that a home's worker carried out for the run, in order; of all runs without `run`. */
export const activitiesOf = async (
  { files, store }: Pick<Emend, 'files' | 'store'>,
  host: string,
  run = '',
): Promise<readonly string[]> => {
  const objects = await files.list(`${store}/archive${run === '' ? '' : `/${run}`}`);
  const logs = objects.filter(({ path }) => path.includes(`/log-${host}`));
  const texts = await Promise.all(logs.map(({ path }) => files.readText(path)));
  return texts
    .flatMap((text) => text.split('\n'))
    .filter((line) => line.includes('"kind":"activity"'))
    .map((line) => (JSON.parse(line) as { readonly data: { readonly name: string } }).data.name);
};

/** Counts which activities each home's worker carried out, for the runner's summary. */
export const noteShares = async (
  emend: Pick<Emend, 'files' | 'store' | 'home'>,
  second: string,
): Promise<void> => {
  const file = process.env.EMEND_TEST_SHARES;
  if (!ofTwo || file === undefined || second === '') return;
  const countOf = async (home: string): Promise<number> => {
    const host = hostOf(home);
    return host === null ? 0 : (await activitiesOf(emend, host)).length;
  };
  const counts = { first: await countOf(emend.home), second: await countOf(second) };
  appendFileSync(file, `${JSON.stringify(counts)}\n`);
};

export const hostIdOf = (home: string): string =>
  readFileSync(join(home, 'host-id'), 'utf8').split(' ')[1] ?? '';

const hostOf = (home: string): string | null => {
  try {
    return hostIdOf(home);
  } catch {
    return null;
  }
};
