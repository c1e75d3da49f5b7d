/** Runs the small programs that Emend itself asks: by absolute path, with the PATH of its own child processes (programs.ts). */
import type { ProcessCall, ProcessOutput } from './capture.js';
import type { ChildKind, Environment } from './environment.js';
import { captureProcess } from './launcher.js';
import { findProgram, learnAround, ownEnvironment } from './programs.js';

interface OwnCall extends Omit<ProcessCall, 'env'> {
  /** It gets what its kinds get of this environment, in which it is also looked for. */
  readonly env: Environment;
  readonly kinds?: readonly ChildKind[];
  /** Variables of its own. */
  readonly more?: Readonly<Record<string, string>>;
}

/** Returns what a program wrote. One that is not there, or that is not trusted, has `isMissing` and a `failure` that explains it. */
export const captureOwn = async (
  name: string,
  args: readonly string[],
  { env, kinds = [], more = {}, ...call }: OwnCall,
): Promise<ProcessOutput & { readonly isMissing: boolean }> => {
  learnAround(call.cwd);
  const found = findProgram(name, env);
  if ('problem' in found) {
    const nothing = Buffer.alloc(0);
    const failure = found.problem.message;
    return { code: null, signal: null, stdout: nothing, stderr: nothing, failure, isMissing: true };
  }
  const variables = { ...ownEnvironment(env, kinds), ...more };
  return {
    ...(await captureProcess(found.path, args, { ...call, env: variables })),
    isMissing: false,
  };
};
