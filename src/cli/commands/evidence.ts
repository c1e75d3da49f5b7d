/** `emend evidence`: writes what a run leaves as proof, and checks it with no server and no home. */
import { resolve } from 'node:path';
import { evidenceKey, writeEvidence } from '../../client/archive/evidence.js';
import { verifyEvidence } from '../../client/archive/verify-evidence.js';
import { refreshRun, resolveRun } from '../../client/runs/resolve.js';
import { shownKey } from '../../shared/ids.js';
import { EXIT, fail, type ExitCode } from '../../shared/problems.js';
import { readGiven, whyUnread } from '../../system/given-file.js';
import type { Io } from '../io.js';
import { count, plain } from '../render/text.js';
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
  const given = (path: string): Promise<string> =>
    readGiven(at(path)).then(String, (error: unknown) =>
      fail('usage', `${whyUnread(path, error)}.`),
    );
  const { wrong, notes } = await verifyEvidence(await given(file), {
    repository: at(flags.repository),
    archive: flags.archive === undefined ? null : at(flags.archive),
    signers: flags.signers === undefined ? null : await given(flags.signers),
  });
  for (const text of [...wrong.map((each) => `does not match: ${each}`), ...notes])
    io.out(plain(text));
  io.out(
    wrong.length === 0
      ? 'Everything that was checked matches.'
      : `${count(wrong.length, 'check')} failed.`,
  );
  return wrong.length === 0 ? EXIT.done : EXIT.failed;
};
