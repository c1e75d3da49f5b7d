/**
 * The command line: names, flags and help texts. Each command's code is loaded only when it runs (`emend --help` loads nothing of
 * Temporal); docs/cli.md describes them all, and a test holds it to this file.
 */
import { Command, Option } from 'commander';
import { nearestWord } from '../documents/source/check.js';
import { EXIT, EXIT_MEANS, type ExitCode } from '../shared/problems.js';
import type { Io, JsonFlag, QuietFlag } from './io.js';
import { EVENT_KINDS } from '../shared/event-text.js';
import { RUN, type Runs, addAids, EXAMPLES, addPlan, collect, json, live, prints, quiet } from './program-more.js';
import { version } from '../system/version.js';

const EXIT_HELP = [
  '\nExit codes:',
  ...Object.entries(EXIT_MEANS).map(
    ([name, means]) => `  ${String(EXIT[name as keyof typeof EXIT]).padEnd(3)}  ${means}`,
  ),
].join('\n');

export const buildProgram = (io: Io, finish: (code: ExitCode) => void): Command => {
  // The last that commander hands over is the command itself.
  const runs: Runs =
    (load) =>
    async (...given) => {
      finish(await (await load())(io, ...(given.slice(0, -1) as never[])));
    };
  const program = new Command('emend')
    .description('Carries out code changes that a language model proposes, as durable Temporal workflows.')
    .version(version())
    .exitOverride()
    .showSuggestionAfterError()
    .configureOutput({
      writeOut: (text) => {
        io.write(text);
      },
      writeErr: (text) => {
        io.err(text.trimEnd());
      },
      getOutHelpWidth: () => io.columns,
      getErrHelpWidth: () => io.columns,
    })
    .addHelpText('after', EXIT_HELP)
    .addHelpText('beforeAll', refuseUnknown);

  prints(program.command('run'), quiet(), json())
    .argument('<job>', 'a Markdown job file')
    .description('start a job, show what it does, and let you review and answer')
    .option('--dev', 'start a server and a worker for this run where none answers')
    .option('--wait', 'without a terminal: wait through pauses until the run ends')
    .option('--yes', 'approve the proposal; other decisions still ask')
    .option('--policy <file>', 'approve what lies within the bounds of this policy; else end with 3')
    .option('--annotations', 'annotations for GitHub Actions (default where GITHUB_ACTIONS is set)')
    .option('--push <branch>', 'push the commit to this branch of the remote')
    .option('--remote <name>', 'the remote to push to', 'origin')
    .option('--draft-pr', 'open a draft pull request for the branch, with gh')
    .option('--estimate', 'only say how many calls, tokens and US dollars it is expected to take; starts nothing')
    .option('--again', 'start another run beside an open one of the same job')
    .addOption(live())
    .option('--set <limit=value>', 'a limit, or `requireCompleteSentinel`, for this run (repeatable)', collect, [])
    .option('--hint <text>', 'a hint for the prompts of this run (again and again)', collect, [])
    .option('--workspace <dir>', 'the directory to edit; default: the git repository of the job file')
    .action(runs(async () => (await import('./commands/run.js')).run));

  prints(program.command('list'), quiet(), json())
    .description('list runs: open ones first')
    .action(runs(async () => (await import('./commands/show.js')).list));

  prints(program.command('show'), json())
    .argument('<run>', RUN)
    .description('state, files and waiting decision of a run, with the commands to type')
    .option('--tests', 'which of its tests failed, and the last 200 lines that they printed')
    .addOption(new Option('--whole', 'with --tests: all that they printed').implies({ tests: true }))
    .action(runs(async () => (await import('./commands/show.js')).show));

  prints(program.command('diff'), json())
    .argument('<run>', RUN)
    .description('the combined diff of the proposal')
    .option('--since <n>', 'only what changed since its version N')
    .action(runs(async () => (await import('./commands/show.js')).diff));

  prints(program.command('review'), quiet())
    .argument('[run]', `${RUN}; default: the one that waits`)
    .description('go through a proposal hunk by hunk and answer')
    .action(runs(async () => (await import('./commands/review.js')).review));

  addAids(program, runs);
  addDecisions(program, runs);
  addPatching(program, runs);

  program
    .command('events')
    .argument('<run>', RUN)
    .description('what happened in a run, in order')
    .option('--follow', 'go on until the run ends')
    .addOption(new Option('--kind <kind>', 'only what answers one question of a plan').choices(EVENT_KINDS))
    .addOption(live())
    .addOption(new Option('--json', 'print one JSON object a line'))
    .action(runs(async () => (await import('./commands/events.js')).events));

  addPlan(program, runs);
  addMachinery(program, runs);
  for (const command of program.commands) {
    const lines = EXAMPLES[command.name()]?.map((text) => `  ${text}`) ?? [];
    if (lines.length > 0) command.addHelpText('after', `\nExamples:\n${lines.join('\n')}`);
  }
  return program;
};

/** Commander gives the general help for `emend NAME --help` and `emend help NAME`, whatever the name: one that is no command is an error. */
const refuseUnknown = ({ command }: { readonly command: Command }): string => {
  const names = command.commands.map((each) => each.name());
  const asked = command.args.find((arg, at) => !arg.startsWith('-') && (at > 0 || arg !== 'help'));
  if (names.length === 0 || asked === undefined || names.includes(asked)) return '';
  const nearest = nearestWord(asked, names);
  const help = command.name() === 'emend' ? 'emend help' : `emend ${command.name()} --help`;
  return command.error(
    `error: unknown command '${asked}'\n(${nearest === null ? `See \`${help}\`.` : `Did you mean ${nearest}?`})`,
    { code: 'commander.unknownCommand', exitCode: EXIT.usage },
  );
};

const addDecisions = (program: Command, runs: Runs): void => {
  const flags = (command: Command): Command =>
    command
      .option('--decision <id>', 'the decision that you looked at; without it a terminal shows the open one and asks')
      .option('--file <path>', 'answer for this file only (again and again)', collect, [])
      .option('--note <text>', 'what to change, or a hint')
      .option('--set <name=value>', 'a limit, `model` or `command` (again and again)', collect, [])
      .addOption(json());
  const decide = async () => (await import('./commands/decide.js')).decide;
  flags(
    program
      .command('decide')
      .argument('<run>', RUN)
      .argument('<answer>', 'an answer that `emend show` lists')
      .description('answer the decision that a run waits for')
      .option('--hunk <path:n>', 'with select: take these hunks, PATH:1,3 (again and again)', collect, []),
  ).action(runs(decide));
  const shortForms = [
    ['approve', 'apply the proposed change'],
    ['skip', 'leave the files as they are'],
    ['retry', 'try again'],
    ['revise', 'ask again with your --note'],
    ['abort', 'end the run and roll back what is not committed'],
  ] as const;
  for (const [answer, description] of shortForms)
    flags(program.command(answer).argument('<run>', RUN).description(description)).action(
      runs(async () => {
        const send = await decide();
        return (io: Io, run: string, given: Parameters<typeof send>[3]) => send(io, run, answer, given);
      }),
    );
};

const addPatching = (program: Command, runs: Runs): void => {
  const where = '--workspace <dir>';
  const whereHelp = 'the directory to change; default: the git repository here, else this directory';
  prints(program.command('patch'), quiet(), json())
    .argument('<answer>', 'a file that holds an edit in any known format, or - for stdin')
    .description('apply an edit that you have, all of it or nothing, with no server and no model')
    .option(where, whereHelp)
    .option('--format <name>', 'the format of the answer; auto: by its first lines', 'auto')
    .option('--check', 'write nothing: print the diff and what would happen')
    .action(runs(async () => (await import('./commands/patch.js')).patch));

  prints(program.command('undo'), json())
    .description('put back the last change of a workspace while its files are untouched')
    .option(where, whereHelp)
    .option('--check', 'only say what would be put back')
    .action(runs(async () => (await import('./commands/undo.js')).undo));
};

interface DoctorFlags extends JsonFlag, QuietFlag {
  readonly model?: string | true;
}

const PORT = 'port of the review page; default: 8260, or a free one where that is taken';

const addMachinery = (program: Command, runs: Runs): void => {
  prints(program.command('recover'), json())
    .description('finish or revert what a crash left half done, and find workspaces held by ended runs')
    .option('--undo <run>', 'put back the files of an ended run that still holds its workspace')
    .option('--keep <run>', 'keep the files of such a run and end its hold')
    .action(runs(async () => (await import('./commands/recover.js')).recover));

  prints(program.command('gc'), json())
    .description('remove stored files that nothing names any more')
    .option('--dry-run', 'only say what would be removed')
    .option('--older-than <days>', 'leave younger files alone', '7')
    .option('--archives-older-than <days>', 'remove archives of ended runs too, where nothing was added for so long')
    .option('--assume-closed <namespace>', 'its runs have ended (again and again)', collect, [])
    .action(runs(async () => (await import('./commands/gc.js')).gc));

  prints(program.command('dev'), quiet())
    .description('run a Temporal dev server, a worker and the review page on this machine')
    .option('--port <n>', PORT)
    .option('--no-web', 'without the review page')
    .option('--ui', 'serve the Temporal UI where it cannot be hidden from web pages, too (macOS)')
    .action(runs(async () => (await import('./commands/serve.js')).dev));

  prints(program.command('web'), quiet())
    .description('serve the review page, beside a worker that runs elsewhere')
    .option('--port <n>', PORT)
    .option('--host <address>', 'listen there instead of on the loopback address; needs EMEND_WEB_SECRET')
    .option('--public-url <url>', 'the address that people use, where a proxy stands before the page')
    .action(runs(async () => (await import('./commands/serve.js')).web));

  prints(program.command('worker'), quiet())
    .description('run a worker against the configured Temporal server')
    .action(runs(async () => (await import('./commands/serve.js')).worker));

  prints(program.command('doctor'), quiet(), json())
    .description('what is missing on this machine, and the command that mends it')
    .option(
      '--model [name]',
      'ask the model (default: as configured) for one small edit in each format, and say which work',
    )
    .action(
      runs(() =>
        Promise.resolve(async (io: Io, { model, ...flags }: DoctorFlags) => {
          if (model === undefined) return (await import('./commands/doctor.js')).doctor(io, flags);
          return (await import('./commands/doctor-model.js')).doctorModel(io, model, flags);
        }),
      ),
    );

  prints(program.command('rehearse'), quiet())
    .argument('<script>', 'a rehearsal script (YAML)')
    .description('play a language model from a script, for demos and tests')
    .option('--port <n>', 'port on the loopback address; default: a free one')
    .option('--record <file>', 'append every request to this file, a JSON line each')
    .action(runs(async () => (await import('./commands/serve.js')).rehearse));
};
