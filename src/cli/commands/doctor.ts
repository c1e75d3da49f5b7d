import { EXIT, type ExitCode } from '../../shared/problems.js';
import { doctor as examine } from '../../temporal/doctor.js';
import type { Io } from '../io.js';
import { printJson } from '../json.js';
import { plain, table } from '../render/text.js';

/** Exit code 7 where something is missing: what a run needs is not there. */
export const doctor = async (io: Io, options: { readonly json?: true }): Promise<ExitCode> => {
  const checks = await examine(io.env);
  const exit = checks.every((check) => check.ok) ? EXIT.done : EXIT.unavailable;
  if (options.json === true) {
    printJson(io, 'doctor', checks);
    return exit;
  }
  const rows = table(checks.map((check) => [check.ok ? 'ok' : 'missing', check.name, plain(check.found)]));
  checks.forEach((check, index) => {
    io.out(rows[index] ?? '');
    if (check.mend !== null) io.out(`           ${io.colors.bold(plain(check.mend))}`);
  });
  return exit;
};
