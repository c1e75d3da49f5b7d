/**
 * The command line: names, flags and help texts. Each command's code is loaded only when it runs (`emend --help` loads nothing of
 * Temporal); docs/cli.md describes them all, and a test holds it to this file.
 */
import { Command, Help, Option } from 'commander';
import { EXIT, EXIT_MEANS, fail, type ExitCode } from '../shared/problems.js';
import type { Io } from './io.js';
import { LISTED_STATES } from '../shared/run.js';
import { nearestWord } from '../shared/text.js';
import { EVENT_KINDS } from '../shared/event-text.js';
import {
  RUN,
  type Runs,
  addAids,
  EXAMPLES,
  addPlan,
  collect,
  json,
  live,
  prints,
  quiet,
  renamed,
  CONFIG_FROM,
} from './program-more.js';
import { build } from '../system/version.js';

const EXIT_HELP = [
  '\nExit codes:',
  ...Object.entries(EXIT_MEANS).map(
    ([name, means]) => `  ${String(EXIT[name as keyof typeof EXIT]).padEnd(3)}  ${means}`,
  ),
].join('\n');

/** `jobFlags`: of `run`, where they are wanted: the schemas behind them take time to load. */
export const buildProgram = (
  io: Io,
  finish: (code: ExitCode) => void,
  jobFlags: readonly Option[] = [],
): Command => {
  // The last that commander hands over is the command itself.
  const runs: Runs =
    (load) =>
    async (...given) => {
      finish((await (await load())(io, ...(given.slice(0, -1) as never[]))) ?? EXIT.done);
    };
  const program = new Command('emend')
    .description('Runs code changes proposed by a language model as durable Temporal workflows.')
    .version(build())
    .exitOverride()
    .showSuggestionAfterError()
    // That nothing was collected yet is no default to show.
    .configureHelp({
      optionDescription: (each) => new Help().optionDescription(each).replace(' (default: [])', ''),
    })
    .showHelpAfterError('(See `emend help`.)')
    .configureOutput({
      writeOut: (text) => io.write(text),
      writeErr: (text) => io.err(text.trimEnd()),
      getOutHelpWidth: () => io.columns,
      getErrHelpWidth: () => io.columns,
    })
    .addHelpText('after', EXIT_HELP)
    .addHelpText('beforeAll', refuseUnknown);

  const run = prints(program.command('run'), quiet(), json())
    .usage('[options] JOB.md | -m TEXT [FILES...]')
    .argument(
      '[files...]',
      'one Markdown job file; with -m the files to change (default: a model picks them)',
    )
    .description('start a job, follow it, review the proposal and answer decisions')
    .option(
      '-m, --message <text>',
      'what to change, in words, instead of a job file; - reads stdin',
    )
    .option('--pick', 'show which files a model picks and why, and ask before any is edited')
    .option('--dev', 'start a server and a worker for this run if none is running')
    .option('--wait', 'without a terminal: wait at decisions until the run ends')
    .option('--yes', 'approve the proposal; other decisions still ask')
    .option(
      '--policy <file>',
      'approve proposals within the limits of this policy; otherwise exit with 3',
    )
    .option(
      '--annotations',
      'print annotations for GitHub Actions (default if GITHUB_ACTIONS is set)',
    )
    .option('--push <branch>', 'push the commit to this branch of the remote')
    .option('--remote <name>', 'the remote to push to', 'origin')
    .option('--draft-pr', 'open a draft pull request for the branch with gh')
    .option('--estimate', 'print the expected model calls, tokens and US dollars; start nothing')
    .option('--again', 'start another run even if one of this job is open')
    .addOption(live())
    .option(
      '--set <limit=value>',
      'a limit, or `requireCompleteSentinel`, for this run (repeatable)',
      collect,
      [],
    )
    .option('--hint <text>', 'a hint for the prompts of this run (repeatable)', collect, [])
    .option(
      '--workspace <dir>',
      'directory to edit (default: the git repository of the job file, or with -m of this directory)',
    )
    .option(
      '--repository <url>',
      'edit no directory but a checkout of this repository, on any host, and push a branch',
    )
    .option('--base <branch>', 'with --repository: the branch or commit to begin at')
    .option('--config-from <commit>', CONFIG_FROM)
    .action(runs(async () => (await import('./commands/run.js')).run));

  prints(run, ...jobFlags);

  prints(program.command('list'), quiet(), json())
    .description('list runs, open ones first')
    .addOption(new Option('--state <state>', 'only runs in this state').choices(LISTED_STATES))
    .option(
      '--search <text>',
      'only runs with each of these words in their title, task, id, repository, plan, files or outcome',
    )
    .option(
      '--repository <place>',
      'only runs in this directory, or in the repository with this URL',
    )
    .option(
      '--plan <plan>',
      'only runs of this plan and its phases (a document, or the id of a run)',
    )
    .option('--limit <number>', 'how many ended runs to list (50)')
    .option(
      '--before <time>',
      'only ended runs that are older than this day or time, or than the page that printed it',
    )
    .addOption(renamed('--text <text>', '--search'))
    .addOption(renamed('--workspace <dir>', '--repository'))
    .action(runs(async () => (await import('./commands/show.js')).list));

  prints(program.command('show'), json())
    .argument('<run>', RUN)
    .description('show the state, files and open decision of a run, and the commands to answer it')
    .option('--tests', 'show the failed tests, then as much of the test output as fits')
    .option('--context', 'show which files the model was shown beside those to edit, and why')
    .addOption(new Option('--whole', 'with --tests: all test output').implies({ tests: true }))
    .addOption(
      new Option(
        '--blob <hash>',
        'print the bytes that a warning says are kept as this sha256:…',
      ).conflicts(['tests', 'context', 'json']),
    )
    .action(runs(async () => (await import('./commands/show.js')).show));

  prints(program.command('diff'), json())
    .argument('<run>', RUN)
    .description('show the combined diff of the proposal')
    .option('--since <n>', 'show only changes since version N of the proposal')
    .action(runs(async () => (await import('./commands/show.js')).diff));

  prints(program.command('review'), quiet())
    .argument('[run]', `${RUN} (default: the one waiting for a decision)`)
    .description('review a proposal hunk by hunk and answer')
    .action(runs(async () => (await import('./commands/review.js')).review));

  addAids(program, runs);
  addDecisions(program, runs);
  addPatching(program, runs);

  program
    .command('events')
    .argument('<run>', RUN)
    .description('list the events of a run in order')
    .option('--follow', 'follow until the run ends')
    .addOption(
      new Option('--kind <kind>', 'only events that answer one question about a plan').choices(
        EVENT_KINDS,
      ),
    )
    .addOption(live())
    .addOption(new Option('--json', 'print one JSON object a line'))
    .action(runs(async () => (await import('./commands/events.js')).events));

  addPlan(program, runs);
  addMachinery(program, runs);
  for (const command of program.commands) {
    const lines = EXAMPLES[command.name()]?.map((text) => `  ${text}`) ?? [];
    for (const each of [command, ...command.commands])
      each.showHelpAfterError(
        `(See \`emend help ${each === command ? '' : `${command.name()} `}${each.name()}\`.)`,
      );
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
  return command.error(
    `error: unknown command '${asked}'${nearest === null ? '' : `\n(Did you mean ${nearest}?)`}`,
    {
      code: 'commander.unknownCommand',
      exitCode: EXIT.usage,
    },
  );
};

const addDecisions = (program: Command, runs: Runs): void => {
  const flags = (command: Command): Command =>
    command
      .option(
        '--decision <id>',
        'id of the decision to answer (default: a terminal shows the open one and asks)',
      )
      .option('--file <path>', 'answer for this file only (repeatable)', collect, [])
      .option('--note <text>', 'what to change, or a hint')
      .option('--set <name=value>', 'a limit, `model` or `command` (repeatable)', collect, [])
      .addOption(json());
  const noWait = (): Option =>
    new Option('--no-wait', 'in a terminal: return at once instead of following the run');
  const decide = async () => (await import('./commands/decide.js')).decide;
  flags(
    program
      .command('decide')
      .argument('<run>', RUN)
      .argument('<answer>', 'an answer that `emend show` lists')
      .description('answer the open decision of a run')
      .option(
        '--hunk <path:n>',
        'with `select`: hunks to accept, PATH:1,3 (repeatable)',
        collect,
        [],
      )
      .addOption(noWait()),
  ).action(
    runs(async () => {
      const send = await decide();
      type Flags = Parameters<typeof send>[3];
      // Commander sets `wait` to true for `--no-wait` alone, which would read as the `--wait` of `revise`.
      return (io: Io, run: string, answer: string, { wait, ...flags }: Flags) =>
        send(io, run, answer, wait === false ? { ...flags, wait } : flags);
    }),
  );
  prints(program.command('move'), noWait(), json())
    .argument('<run>', RUN)
    .description(
      'continue a run whose host is gone in a copy of its workspace, or in a checkout of its repository',
    )
    .option('--to <dir>', 'directory with the files as the run read them (default: the same path)')
    .option(
      '--host <id>',
      "at least the first 4 digits of that directory's host (default: this home)",
    )
    .option(
      '--as-repository [url]',
      'any host, in a checkout of the commit that the run is based on (default: `origin` of this directory)',
    )
    .option(
      '--decision <id>',
      'id of the decision to answer (default: a terminal shows the open one and asks)',
    )
    .action(runs(async () => (await import('./commands/hosts.js')).move));
  const shortForms = [
    ['approve', 'apply the proposed change'],
    ['skip', 'leave the files unchanged'],
    ['retry', 'try again'],
    ['revise', 'ask again with your --note'],
    ['abort', 'end the run and roll back uncommitted changes'],
  ] as const;
  for (const [answer, description] of shortForms) {
    const command = flags(program.command(answer).argument('<run>', RUN).description(description));
    // First, so that `--no-wait` gives `--wait` no default.
    if (answer === 'revise') addFromPr(command);
    // An abort is not followed.
    if (answer !== 'abort') command.addOption(noWait());
    command.action(
      runs(async () => {
        const send = await decide();
        return async (
          io: Io,
          run: string,
          given: Parameters<typeof send>[3] & { readonly fromPr?: true },
        ) =>
          given.fromPr === true
            ? (await import('./commands/from-pr.js')).reviseEnded(io, run, given)
            : send(io, run, answer, given);
      }),
    );
  }
};

const addFromPr = (revise: Command): void => {
  const more = (flags: string, text: string): Option =>
    new Option(flags, text).implies({ fromPr: true }).helpGroup('With --from-pr:');
  const taken = new Option(
    '--from-pr',
    'take up the review comments of the pull request that has the commit of the run',
  );
  prints(
    revise,
    taken.conflicts(['decision', 'file', 'note', 'set']),
    more('--author <login>', 'also comments of this person, who cannot push (repeatable)')
      .default([])
      .argParser(collect),
    more('--remote <name>', 'the remote with the branch of the pull request (default: origin)'),
    new Option('--wait', 'after a run that has ended: wait at decisions, without a terminal, too'),
    new Option('--yes', 'after a run that has ended: ask nothing, and approve the proposal'),
  );
};

const addPatching = (program: Command, runs: Runs): void => {
  const where = (): Option =>
    new Option(
      '--workspace <dir>',
      'directory to change (default: the git repository here, else this directory)',
    );
  prints(program.command('patch'), where(), quiet(), json())
    .argument('<answer>', 'a file with an edit in any supported format, or - for stdin')
    .description('apply an edit you already have, whole or not at all, without a server or a model')
    .option('--format <name>', 'format of the answer; auto detects it from the first lines', 'auto')
    .option('--check', 'print the diff and what would happen; write nothing')
    .action(runs(async () => (await import('./commands/patch.js')).patch));

  prints(program.command('undo'), where(), json())
    .description('revert the last change of a workspace if its files are unchanged since')
    .option('--check', 'print what would be reverted; write nothing')
    .action(runs(async () => (await import('./commands/undo.js')).undo));

  prints(program.command('trust'), where())
    .argument('<files...>', 'emend.yaml, a job, a plan, a review policy, CLAUDE.md or AGENTS.md')
    .description('accept configuration whose content a model may have written')
    .option('--check', 'print why the files are not trusted and what they would allow')
    .action(runs(async () => (await import('./commands/trust.js')).trust));
};

const PORT = 'port of the review page (default: 8260, or a free port if it is in use)';
const portOf = (text: string): number => {
  if (/^\d+$/.test(text) && Number(text) <= 65_535) return Number(text);
  return fail('usage', `--port must be a number from 0 to 65535, received ${text}.`);
};

const addMachinery = (program: Command, runs: Runs): void => {
  prints(program.command('recover'), json())
    .description(
      'finish or revert changes that a crash interrupted, and find workspaces locked by ended runs',
    )
    .option('--undo <run>', 'restore the files of an ended run that still locks its workspace')
    .option('--keep <run>', 'keep the files of such a run and release its lock')
    .action(runs(async () => (await import('./commands/recover.js')).recover));

  prints(program.command('gc'), json())
    .description('remove stored files that nothing refers to any more')
    .option('--dry-run', 'print what would be removed; remove nothing')
    .option('--older-than <days>', 'keep files younger than this', '7')
    .option(
      '--archives-older-than <days>',
      'also remove archives of ended runs unchanged for this long',
    )
    .option(
      '--assume-closed <namespace>',
      'treat all runs of this namespace as ended (repeatable)',
      collect,
      [],
    )
    .action(runs(async () => (await import('./commands/gc.js')).gc));

  prints(program.command('backup'), json())
    .argument('<file>', 'the file to write; it must not exist')
    .description('copy the home into one file, also while workers run')
    .action(runs(async () => (await import('./commands/backup.js')).backup));

  prints(program.command('restore'), json())
    .argument('<file>', 'a file that `emend backup` wrote')
    .description('make the home from a backup; EMEND_HOME must be absent or empty')
    .action(runs(async () => (await import('./commands/backup.js')).restore));

  prints(program.command('dev'), quiet())
    .description('run a Temporal dev server, a worker and the review page on this machine')
    .option('--port <n>', PORT, portOf)
    .option('--no-web', 'do not serve the review page')
    .option(
      '--ui',
      'serve the Temporal UI even where it cannot be protected from web pages (macOS)',
    )
    .action(runs(async () => (await import('./commands/serve.js')).dev));

  prints(program.command('web'), quiet())
    .description('serve the review page for a worker that runs elsewhere')
    .option('--port <n>', PORT, portOf)
    .option(
      '--host <address>',
      'listen on this address instead of loopback; requires EMEND_WEB_SECRET',
    )
    .option('--public-url <url>', 'public address of the page, if it is behind a proxy')
    .action(runs(async () => (await import('./commands/serve.js')).web));

  prints(program.command('worker'), quiet())
    .description('run a worker against the configured Temporal server')
    .option('--roles <list>', 'serve only these: workflows, model, hosts (default: all)')
    .option('--metrics <address>', 'serve /metrics (Prometheus) there, as in 127.0.0.1:9464')
    .option('--health <address>', 'serve /healthz and /readyz there, as in 127.0.0.1:9465')
    .option(
      '--deployment',
      'be a version of the Worker Deployment `emend`, which serves nothing until it is current',
    )
    .action(runs(async () => (await import('./commands/serve.js')).worker));

  prints(program.command('replay'), json())
    .description(
      "check that all open runs of the namespace continue with this build's workflows, and name those that do not",
    )
    .action(runs(async () => (await import('./commands/replay.js')).replay));

  prints(program.command('doctor'), quiet(), json())
    .description("check this machine's set-up and print how to fix each problem")
    .option(
      '--model [name]',
      'ask the model (default: the configured one) for a small edit in each format and report which work',
    )
    .addOption(
      new Option(
        '--deep',
        'only compare every file of the home and the store with its hash or checksum',
      ).conflicts('model'),
    )
    .action(runs(async () => (await import('./commands/doctor.js')).doctor));

  prints(program.command('rehearse'), quiet())
    .argument('<script>', 'a rehearsal script (YAML)')
    .description('simulate a language model from a script, for demos and tests')
    .option('--port <n>', 'port on the loopback address (default: a free port)', portOf)
    .option('--record <file>', 'append each request to this file, one JSON object per line')
    .action(runs(async () => (await import('./commands/serve.js')).rehearse));
};
