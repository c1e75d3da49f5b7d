/** Runs the small programs that Emend itself uses, by absolute path and with the PATH of its own child processes (programs.ts). */
import type { ProcessCall, ProcessOutput } from './capture.js';
import type { ChildKind, Environment } from './environment.js';
import { captureProcess } from './launcher.js';
import { findProgram, learnAround, ownEnvironment } from './programs.js';

interface OwnCall extends Omit<ProcessCall, 'env'> {
  /** Environment in which the program is looked for, and of which it gets the variables of its kinds. */
  readonly env: Environment;
  readonly kinds?: readonly ChildKind[];
  /** Variables of its own. */
  readonly more?: Readonly<Record<string, string>>;
}

/** Returns the outputs of a program. For a program that is absent or not trusted, `isMissing` is true and `failure` explains it. */
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
