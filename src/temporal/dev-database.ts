/**
 * The dev server's database remembers which CLI made it: its schema is never migrated, so another version would misread it or
 * refuse it with an error that nobody understands.
 */
import { access, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { fail } from '../shared/problems.js';
import type { TemporalCli } from './cli-binary.js';

const noteOf = (dbFile: string): string => `${dbFile}.cli-version`;

/** Notes the version beside a new database; throws ProblemError `cli_version` for one that another version made. */
export const checkDatabase = async (dbFile: string, cli: TemporalCli): Promise<void> => {
  const folder = dirname(dbFile);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const noted = (await readFile(noteOf(dbFile), 'utf8').catch(() => '')).trim();
  const exists = await access(dbFile).then(
    () => true,
    () => false,
  );
  if (!exists || noted === '') {
    // Before the server starts: a database without its note is one that somebody else made, or one from before a crash here.
    await writeFile(noteOf(dbFile), `${cli.version}\n`, { mode: 0o600 });
    return;
  }
  if (noted !== cli.version) {
    fail(
      'cli_version',
      `${dbFile} was made by Temporal CLI ${noted}, but the one found (${cli.path}, ${cli.from}) is ${cli.version}.`,
      `Set EMEND_TEMPORAL_CLI to a Temporal CLI ${noted}, or start afresh (open runs are lost, archives stay): mv '${folder}' '${folder}-${noted}'`,
    );
  }
};
