/** Runs one command line and returns its exit code; the only caller of `process.exit` is io.ts (a closed pipe). */
import { CommanderError } from 'commander';
import { EXIT, ProblemError, type ExitCode } from '../shared/problems.js';
import { processIo, type Io } from './io.js';
import { buildProgram } from './program.js';

export const main = async (args: readonly string[], io: Io = processIo()): Promise<ExitCode> => {
  let exit: ExitCode = EXIT.done;
  const hasJobFlags = args.some((arg) => arg === 'run' || arg === 'completion');
  const finish = (code: ExitCode): void => {
    exit = code;
  };
  const program = buildProgram(
    io,
    finish,
    hasJobFlags ? (await import('./sentence.js')).jobFlags() : [],
  );
  let typed = '';
  program.hook('preAction', (_, action) => {
    typed =
      action.parent === program ? action.name() : `${action.parent?.name() ?? ''} ${action.name()}`;
  });
  try {
    // Commander's own `help` knows commands, and none below them.
    const asked = args[0] === 'help' && args.length > 2 ? [...args.slice(1), '--help'] : args;
    await program.parseAsync(asked, { from: 'user' });
    return exit;
  } catch (error) {
    // Commander has printed its sentence; help and version that were asked for are no error.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
    const { reportError } = await import('./errors.js');
    const code = reportError(io, error, args.includes('--json'), typed);
    // What the worker left behind, as an activity that does not listen, would hold on to the process.
    if (error instanceof ProblemError && error.problem.code === 'worker_stuck') io.exitNow(code);
    return code;
  }
};
