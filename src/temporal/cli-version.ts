/** Asks a Temporal CLI what it is. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { withoutSecrets } from '../workspace/runner-env.js';
import { SERVER_BOUNDS } from '../shared/bounds.js';

/** Older ones lack what we start the dev server with. */
export const MINIMUM_CLI = '1.4';
const run = promisify(execFile);

export type CliVersion =
  | { readonly usable: true; readonly version: string }
  /** `why` completes "/path/temporal …". */
  | { readonly usable: false; readonly why: string };

/** Runs `<path> --version`: `temporal version 1.9.1 (Server 1.32.0, UI 2.54.1)`. */
export const cliVersion = async (path: string): Promise<CliVersion> => {
  let output: string;
  try {
    ({ stdout: output } = await run(path, ['--version'], {
      timeout: SERVER_BOUNDS.cliVersion_ms,
      env: withoutSecrets(process.env),
    }));
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    return { usable: false, why: code === 'ENOENT' ? 'does not exist' : `does not run (${code ?? 'time-out'})` };
  }
  const version = /^temporal version v?(\d+\.\d+\.\d+\S*)/m.exec(output)?.[1];
  if (version === undefined)
    return { usable: false, why: 'is not the Temporal CLI (its --version says something else)' };
  if (!atLeast(version, MINIMUM_CLI))
    return { usable: false, why: `is version ${version}; at least ${MINIMUM_CLI} is needed` };
  return { usable: true, version };
};

const atLeast = (version: string, minimum: string): boolean => {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [wantedMajor = 0, wantedMinor = 0] = minimum.split('.').map(Number);
  return major > wantedMajor || (major === wantedMajor && minor >= wantedMinor);
};
