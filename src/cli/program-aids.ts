/** Commands beside a run: following it, reporting on it, and files to begin with. Names, flags and help texts. */
import { Argument, Option, type Command } from 'commander';
import type { ExitCode } from '../shared/problems.js';
import type { Io } from './io.js';
import { collect, json, quiet } from './program-options.js';

const RUN = 'the first 4 or more digits of a run, or its workflow id';
const OUT = (): Option => new Option('--out <file>', 'write it there instead of to stdout');

export const addAids = (program: Command, io: Io, finish: (code: ExitCode) => void): void => {
  program
    .command('watch')
    .argument('[run]', `${RUN}; default: all open runs`)
    .description('a line for each change of a run, or of all open runs')
    .addOption(quiet())
    .addOption(new Option('--json', 'print one JSON object a line'))
    .action(async (run: string | undefined, flags: object) => {
      const { watch } = await import('./commands/watch.js');
      finish(await watch(io, run, flags));
    });

  program
    .command('report')
    .argument('<run>', RUN)
    .description('what a run did, decided and cost: one file to read or to send')
    .addOption(new Option('--markdown', 'Markdown (default)').conflicts('html'))
    .addOption(new Option('--html', 'one HTML file that loads nothing from elsewhere'))
    .addOption(OUT())
    .addOption(quiet())
    .addOption(json())
    .action(async (run: string, flags: object) => {
      const { report } = await import('./commands/report.js');
      finish(await report(io, run, flags));
    });

  program
    .command('stats')
    .argument('[run]', RUN)
    .description('what runs and plans in the archive came to; of one plan: tokens and money per phase')
    .option('--since <day>', 'only runs that began on this day or later (YYYY-MM-DD)')
    .addOption(json())
    .action(async (run: string | undefined, flags: object) => {
      const { stats } = await import('./commands/stats.js');
      finish(await stats(io, run, flags));
    });

  program
    .command('init')
    .description('write a commented emend.yaml and a first job, where there are none')
    .addOption(quiet())
    .action(async (flags: object) => {
      const { init } = await import('./commands/init.js');
      finish(await init(io, flags));
    });

  program
    .command('new')
    .addArgument(new Argument('<kind>', 'job or plan'))
    .argument('<path>', 'the Markdown file to write')
    .description('write a job or a plan to begin with')
    .option('--title <text>', 'its heading; default: from the name')
    .option('--file <path>', 'a file that the job edits (again and again)', collect, [])
    .addOption(quiet())
    .action(async (kind: string, path: string, flags: object) => {
      const { makeNew } = await import('./commands/init.js');
      finish(await makeNew(io, kind, path, flags as Parameters<typeof makeNew>[3]));
    });

  program
    .command('completion')
    .argument('<shell>', 'bash, zsh or fish')
    .description('a script that completes commands, flags and files')
    .action(async (shell: string) => {
      const { completion } = await import('./commands/completion.js');
      finish(completion(io, program, shell));
    });
};
