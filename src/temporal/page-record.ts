/**
 * `pages/<id>.json` in EMEND_HOME: one record for each review page that is served for this home. Only the process that serves a page writes
 * its record and removes it, so no page can erase the addresses of another, nor the record of the dev server.
 */
import { randomUUID } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { nullOn } from '../shared/problems.js';
import { orNull, putJsonIfAbsent, readJson, removePut } from '../system/durable.js';
import { isAlive, ownProcess, sameProcess, type ProcessIdentity } from '../system/process.js';
import { realSys } from '../system/sys.js';

export interface PageRecord {
  /** Serves the page. The record of a dead process is ignored, and removed by the next page that starts. */
  readonly process: ProcessIdentity;
  /** ISO time of its start. */
  readonly startedAt: string;
  /** Address of the page, without a token. */
  readonly pageUrl: string;
  /** Address at which it shows the Temporal UI; null: it does not. */
  readonly uiUrl: string | null;
}

/** Addresses that commands of this home print. */
export interface PageLinks {
  /** Null: no page is served. */
  readonly pageUrl: string | null;
  /** Null: no page shows the Temporal UI. */
  readonly uiUrl: string | null;
}

const pagesPath = (home: string): string => join(home, 'pages');

interface StoredPage {
  readonly path: string;
  /** Null: it cannot be read as a page's record. */
  readonly record: PageRecord | null;
}

const storedPages = async (home: string): Promise<readonly StoredPage[]> => {
  const names = (await orNull(readdir(pagesPath(home)))) ?? [];
  const paths = names
    .filter((name) => name.endsWith('.json'))
    .map((name) => join(pagesPath(home), name));
  return Promise.all(
    paths.map(async (path) => ({
      path,
      // Without a record that cannot be read, only a link is missing.
      record: await readJson<PageRecord>(realSys, path, 'PageRecord').catch(nullOn()),
    })),
  );
};

/** Records the page of this process. Returns what removes the record. */
export const recordPage = async (
  home: string,
  links: { readonly pageUrl: string; readonly uiUrl: string | null },
): Promise<() => Promise<void>> => {
  for (const { path, record } of await storedPages(home))
    if (record !== null && !(await isAlive(realSys, record.process)))
      await removePut(realSys, path);
  const path = join(pagesPath(home), `${randomUUID()}.json`);
  const record: PageRecord = {
    process: await ownProcess(realSys),
    startedAt: new Date().toISOString(),
    ...links,
  };
  await putJsonIfAbsent(realSys, path, record);
  return () => removePut(realSys, path);
};

/** Returns the records of all pages, also of those whose process has ended. */
export const recordedPages = async (home: string): Promise<readonly PageRecord[]> =>
  (await storedPages(home)).flatMap(({ record }) => (record === null ? [] : [record]));

/** Returns the addresses of the page that `owner` serves (`emend dev`), else of the page that started first. */
export const pageLinks = async (home: string, owner?: ProcessIdentity): Promise<PageLinks> => {
  const live: PageRecord[] = [];
  for (const { record } of await storedPages(home))
    if (record !== null && (await isAlive(realSys, record.process))) live.push(record);
  const isOwners = ({ process }: PageRecord): boolean =>
    owner !== undefined && sameProcess(process, owner);
  const ordered = live.toSorted(
    (a, b) => Number(isOwners(b)) - Number(isOwners(a)) || (a.startedAt < b.startedAt ? -1 : 1),
  );
  return {
    pageUrl: ordered[0]?.pageUrl ?? null,
    uiUrl: ordered.find(({ uiUrl }) => uiUrl !== null)?.uiUrl ?? null,
  };
};
