/** Runs a command that a person wrote (a job's, a plan's or the project's tests). Never one that came from a model. */
import { childEnvironment, redact, type Environment } from '../../system/environment.js';
import { runProcess, type ProcessOutcome } from '../../system/process-group.js';

export { redact } from '../../system/environment.js';
export { classifyFailure } from './classify.js';
export { discoverTestCommand } from './discover.js';

export interface CommandRequest {
  /** For `sh -c`. */
  readonly command: string;
  readonly cwd: string;
  readonly timeout_s: number;
  /** Kept output: its head and its end. */
  readonly maxOutput_bytes: number;
  /** Names of variables of the runner's environment that it gets beside those that every command gets. */
  readonly env: readonly string[];
  /** Variables of its own. */
  readonly more?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  /** Called every `beat_ms` (default 5,000) with the seconds so far. */
  readonly onHeartbeat?: (seconds: number) => void;
  readonly heartbeat_ms?: number;
  /** Between SIGTERM and SIGKILL of the group, at time-out or abort. Default 2,000. */
  readonly killGrace_ms?: number;
}
export type CommandOutcome = ProcessOutcome;

export interface CommandRunner {
  run(request: CommandRequest): Promise<CommandOutcome>;
}

/**
 * Runs commands on this machine, each in a process group of its own. Their kept output holds no value of a secret-named variable of
 * `env`.
 */
export const createLocalRunner = (env: Environment): CommandRunner => ({
  run: async ({ command, env: names, more = {}, ...rest }) => {
    const given = { ...childEnvironment(env, [], names), ...more };
    const ran = await runProcess({ ...rest, file: '/bin/sh', args: ['-c', command], env: given });
    return { ...ran, output: redact(ran.output, env) };
  },
});
