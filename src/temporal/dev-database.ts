/**
 * The dev server's database remembers which CLI made it: its schema is never migrated, so another version would misread it or
 * refuse it with an error that nobody understands.
 */
import { access, mkdir, open, readFile, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { fail } from '../shared/problems.js';
import type { TemporalCli } from './cli-binary.js';

const noteOf = (dbFile: string): string => `${dbFile}.cli-version`;

/** Durably, and never half: a torn note would be taken for another version. */
const writeNote = async (path: string, version: string): Promise<void> => {
  const fresh = await open(`${path}.new`, 'w', 0o600);
  try {
    await fresh.writeFile(`${version}\n`);
    await fresh.sync();
  } finally {
    await fresh.close();
  }
  await rename(`${path}.new`, path);
  const folder = await open(dirname(path), 'r');
  await folder.sync().finally(() => folder.close());
};

/** Notes the version beside a new database; throws ProblemError `cli_version` for one that another version, or nobody knows which, made. */
export const checkDatabase = async (dbFile: string, cli: TemporalCli): Promise<void> => {
  const folder = dirname(dbFile);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const noted = (await readFile(noteOf(dbFile), 'utf8').catch(() => '')).trim();
  const exists = await access(dbFile).then(
    () => true,
    () => false,
  );
  if (!exists) {
    await writeNote(noteOf(dbFile), cli.version);
    return;
  }
  const afresh = (name: string): string =>
    `start afresh (open runs are lost, archives stay): mv '${folder}' '${folder}-${name}'`;
  // The note is on disk before the server makes a database: one without it was made or brought here by somebody else.
  if (noted === '') {
    fail(
      'cli_version',
      `${dbFile} does not say which Temporal CLI made it; the one found (${cli.path}, ${cli.from}) is ${cli.version}.`,
      `If that one made it: echo ${cli.version} > '${noteOf(dbFile)}'. Else ${afresh('unknown')}`,
    );
  }
  if (noted !== cli.version) {
    fail(
      'cli_version',
      `${dbFile} was made by Temporal CLI ${noted}, but the one found (${cli.path}, ${cli.from}) is ${cli.version}.`,
      `Set EMEND_TEMPORAL_CLI to a Temporal CLI ${noted}, or ${afresh(noted)}`,
    );
  }
};
