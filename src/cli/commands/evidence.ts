/** `emend evidence`: writes what a run leaves as proof, and checks it with no server and no home. */
import { resolve } from 'node:path';
import { evidenceKey, verifyEvidence, writeEvidence } from '../../client/archive/evidence.js';
import { refreshRun, resolveRun } from '../../client/runs/resolve.js';
import { shownKey } from '../../shared/ids.js';
import { EXIT, fail, type ExitCode } from '../../shared/problems.js';
import { readGivenText, UNREADABLE } from '../../system/given-file.js';
import type { Io } from '../io.js';
import { plain } from '../render/text.js';
import { withEmend } from '../session.js';

export const evidence = (io: Io, text: string): Promise<void> =>
  withEmend(io, async (emend) => {
    const { stepKey, archived } = await refreshRun(emend, await resolveRun(emend, text));
    const repository = archived.started?.workspace;
    if (archived.closed === null || repository === undefined)
      return fail('usage', `Run ${shownKey(stepKey)} has not ended, so it has no evidence yet.`);
    const key = await evidenceKey(repository);
    io.out(plain(await writeEvidence(emend, stepKey, repository, key)));
    if (key === null) io.err('It is unsigned: `evidenceKey` in emend.yaml is not set.');
  });

export interface VerifyFlags {
  readonly repository: string;
  readonly archive?: string;
  readonly signers?: string;
}

export const verify = async (io: Io, file: string, flags: VerifyFlags): Promise<ExitCode> => {
  const at = (path: string): string => resolve(io.cwd, path);
  const given = async (path: string): Promise<string> =>
    (await readGivenText(at(path), UNREADABLE)) ?? fail('usage', `${path} cannot be read.`);
  const { wrong, notes } = await verifyEvidence(await given(file), {
    repository: at(flags.repository),
    archive: flags.archive === undefined ? null : at(flags.archive),
    signers: flags.signers === undefined ? null : await given(flags.signers),
  });
  for (const text of [...wrong.map((each) => `does not match: ${each}`), ...notes]) io.out(plain(text));
  io.out(wrong.length === 0 ? 'Everything that was checked matches.' : `${wrong.length} checks failed.`);
  return wrong.length === 0 ? EXIT.done : EXIT.failed;
};
