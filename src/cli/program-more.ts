/** `emend plan ...`: names, flags and help texts. */
import { Argument, InvalidArgumentError, Option, type Command } from 'commander';
import type { ExitCode } from '../shared/problems.js';
import type { Shell } from './commands/completion.js';
import type { Io } from './io.js';

/**
 * The action of a command: its code is loaded when it runs, and gets the arguments and flags as commander has read them. One that returns
 * no exit code is done.
 */
export type Runs = (
  load: () => Promise<(io: Io, ...given: never[]) => ExitCode | Promise<ExitCode> | Promise<void>>,
) => (...given: unknown[]) => Promise<void>;

// Options that several commands have.

export const collect = (value: string, earlier: readonly string[]): readonly string[] => [
  ...earlier,
  value,
];
export const json = (): Option => new Option('--json', 'print JSON');
export const live = (): Option =>
  new Option('--live', 'also print the output of running model calls as it arrives').conflicts([
    'json',
    'quiet',
  ]);
export const CONFIG_FROM =
  'read emend.yaml, the job, the policy and instructions from this commit (default on a pull request: its target branch)';
/** Of the commands that print more than their result: progress, or what to type next. */
export const quiet = (): Option =>
  new Option('--quiet', 'print only the result and errors, no progress and no hints');

/** A flag of before: it is refused, with the name of the flag that does the same now. */
export const renamed = (flags: string, current: string): Option =>
  new Option(flags).hideHelp().argParser(() => {
    throw new InvalidArgumentError(`Use ${current}.`);
  });

/** With options that other commands have, too. */
export const prints = (command: Command, ...options: readonly Option[]): Command =>
  options.reduce((made, option) => made.addOption(option), command);

const onRepository = (): Option =>
  new Option(
    '--repository <url>',
    'the plan lies in this repository; its run pushes a branch, from any host',
  );
const PLAN = "a plan's Markdown file, or the folder of the same name";
const PLAN_OR_RUN = `${PLAN}; or the run: its workflow id, or the first digits of its id`;

export const addPlan = (program: Command, runs: Runs): void => {
  const plan = program
    .command('plan')
    .description('check, run and change plans: several changes in one document');
  const look = (name: 'check' | 'score' | 'show', description: string): void => {
    prints(plan.command(name), json())
      .argument('<plan>', PLAN)
      .description(description)
      .action(runs(async () => (await import('./commands/plan-edit.js'))[name]));
  };
  const change = (verb: 'expand' | 'collapse', description: string, rule: string): void => {
    prints(plan.command(verb), json())
      .addArgument(new Argument('<kind>', 'which part').choices(['phase', 'stage']))
      .argument('<plan>', PLAN)
      .argument('[n]', 'the phase, or PHASE.STAGE as in 2.1')
      .description(description)
      .option('--auto', rule)
      .action(runs(async () => (await import('./commands/plan-edit.js'))[verb]));
  };
  addPlanRuns(plan, runs);
  look('check', 'check a plan: print its structure, waves and scores, and every error');
  look('score', 'show the complexity score of each phase and how it is computed');
  look('show', 'show which phases and stages are expanded, and their files');
  change(
    'expand',
    'move the text of a phase or stage into its own file',
    'all that are above a threshold',
  );
  change(
    'collapse',
    'move the text of a phase or stage back into its parent',
    'all completed phases with at most 5 tasks and a score below 6',
  );
};

const addPlanRuns = (plan: Command, runs: Runs): void => {
  prints(plan.command('run'), quiet(), json(), onRepository())
    .argument('<plan>', PLAN)
    .description('run a plan phase by phase, or follow its open run')
    .option('--base <branch>', 'with --repository: the branch or commit to begin at')
    .option('--config-from <commit>', CONFIG_FROM)
    .option('--estimate', 'print the expected model calls, tokens and US dollars; start nothing')
    .option('--draft-pr', 'with a repository: open a draft pull request for the branch with gh')
    .option('--phase <n>', 'start with this phase; treat earlier ones as done')
    .addOption(
      new Option(
        '--sequential',
        'run one phase at a time, whatever the dependencies allow',
      ).conflicts('waves'),
    )
    .option(
      '--waves',
      'run the phases of a wave in parallel (default if a phase declares dependencies)',
    )
    .option('--auto', 'approve each phase by policy, as `approval: auto` does')
    .option('--restart', 'use only the markers in the document; ignore earlier runs')
    .option('--force-replan', 'replan beyond the limit: reset the counter of the phase')
    .option(
      '--report-scope-drift <text>',
      'work missing from the plan; handled before the first phase',
    )
    .option('--dev', 'start a server or worker if needed, for as long as this command runs')
    .option('--wait', 'wait while decisions are answered elsewhere')
    .option('--yes', 'approve the estimate (within budgets) and every proposal')
    .option(
      '--set <limit=value>',
      'a budget of the plan, or a setting of its phases as for `emend run` (repeatable)',
      collect,
      [],
    )
    .option('--hint <text>', 'a hint for the prompts of this run (repeatable)', collect, [])
    .action(runs(async () => (await import('./commands/plan-run.js')).runPlan));
  type Control = 'pause' | 'resume' | 'status' | 'drift' | 'revise' | 'stop';
  const control = (name: Control, description: string, ...options: readonly Option[]): Command =>
    prints(plan.command(name), ...options, json(), onRepository())
      .argument('<plan>', PLAN_OR_RUN)
      .description(description)
      .action(runs(async () => (await import('./commands/plan-controls.js'))[name]));
  control('pause', 'wait before the next phase', quiet());
  control('resume', 'continue after a pause, or start the plan where it left off', quiet());
  control('status', 'show the progress of a plan run, phase by phase');
  const soon = '; handled before the next phase';
  control('drift', `report work that is out of scope of the plan${soon}`).argument(
    '<text>',
    'the missing work',
  );
  control('revise', `request a revision of the plan${soon}`).argument('<text>', 'what to change');
  prints(plan.command('rollback'), json())
    .argument('<plan>', PLAN)
    .argument('<n>', 'the phase')
    .description('revert the commits of a phase in one new commit and reopen the phase')
    .action(runs(async () => (await import('./commands/plan-rollback.js')).rollback));
  const end = new Option(
    '--after-phase',
    'required; to end it now, use `emend abort RUN`',
  ).makeOptionMandatory();
  control('stop', 'end the plan run when the current phase is done', quiet(), end);
};

// Commands beside a run: following it, reporting on it, and files to begin with. Names, flags and help texts.

export const RUN = "at least the first 4 digits of the run's id, or its workflow id";

export const addAids = (program: Command, runs: Runs): void => {
  prints(program.command('watch'), quiet())
    .argument('[run]', `${RUN} (default: all open runs)`)
    .description('print a line for each change of one run, or of all open runs')
    .option('--wait', 'without a terminal: wait at decisions until the run ends')
    .addOption(new Option('--json', 'print one JSON object a line'))
    .action(runs(async () => (await import('./commands/watch.js')).watch));

  prints(program.command('calls'), json())
    .argument('<run>', RUN)
    .argument('[n]', 'number of one call')
    .description('list the model calls of a run, or show the prompt and answer of one')
    .option('--prompt', 'show only the prompt')
    .option('--answer', 'show only the answer')
    .action(runs(async () => (await import('./commands/show.js')).calls));

  prints(program.command('report'), quiet(), json())
    .argument('<run>', RUN)
    .description('write a report of what a run did, decided and cost, in one file')
    .addOption(new Option('--markdown', 'Markdown (default)').conflicts('html'))
    .addOption(new Option('--html', 'one self-contained HTML file'))
    .option('--whole', 'all test output, not only the failed tests and what fits')
    .option('--out <file>', 'write to this file instead of stdout')
    .action(runs(async () => (await import('./commands/report.js')).report));

  const hosts = prints(program.command('hosts'), json())
    .description(
      'list the hosts that share the store: who serves them, and the open runs that need them',
    )
    .action(runs(async () => (await import('./commands/hosts.js')).hosts));
  hosts
    .command('adopt')
    .argument('<id>', "at least the first 4 digits of the lost host's id")
    .description('make this new home take the place of a host that is lost')
    .action(runs(async () => (await import('./commands/hosts.js')).adopt));

  const evidence = program
    .command('evidence')
    .argument('<run>', RUN)
    .description(
      'write evidence of a run into its archive: an in-toto statement, signed if `evidenceKey` is set',
    )
    .action(runs(async () => (await import('./commands/evidence.js')).evidence));
  evidence
    .command('verify')
    .argument('<file>', 'the envelope')
    .description('verify evidence offline and list what does not match')
    .requiredOption('--repository <dir>', 'a clone that contains the commit')
    .option('--archive <dir>', "the run's archive")
    .option('--signers <file>', 'allowed_signers file (default: `approvers` of the base commit)')
    .action(runs(async () => (await import('./commands/evidence.js')).verify));

  program
    .command('mcp')
    .description(
      'serve coding agents over stdin and stdout (MCP): check and propose changes; it never approves',
    )
    .option(
      '--workspace <dir>',
      'directory to change (default: the git repository here, else this directory)',
    )
    .action(runs(async () => (await import('./commands/mcp.js')).mcp));

  prints(program.command('stats'), json())
    .argument('[run]', RUN)
    .description('summarize archived runs and plans; for one plan, tokens and money per phase')
    .option('--since <day>', 'only runs started on or after this day (YYYY-MM-DD)')
    .action(runs(async () => (await import('./commands/stats.js')).stats));

  prints(program.command('init'), quiet())
    .description('write a commented emend.yaml and a first job, if there are none')
    .action(runs(async () => (await import('./commands/init.js')).init));

  prints(program.command('new'), quiet())
    .addArgument(new Argument('<kind>', 'what to write').choices(['job', 'plan']))
    .argument('<path>', 'the Markdown file to write')
    .description('write a job or plan template')
    .option('--title <text>', 'its heading (default: from the file name)')
    .option('--file <path>', 'a file that the job edits (repeatable)', collect, [])
    .action(runs(async () => (await import('./commands/init.js')).makeNew));

  program
    .command('completion')
    .addArgument(new Argument('<shell>').choices(['bash', 'zsh', 'fish']))
    .description('print a shell completion script')
    .action(
      runs(async () => {
        const { completion } = await import('./commands/completion.js');
        return (io: Io, shell: Shell) => completion(io, program, shell);
      }),
    );
};

/** Examples that the help of each command shows. A test reads them with the command line's own parser. */
export const EXAMPLES: Readonly<Record<string, readonly string[]>> = {
  run: [
    'emend run -m "Say good day instead of hello" src/greet.js --test "npm test" --commit',
    'emend run jobs/greet.md --dev',
    'emend run jobs/greet.md --policy review.yaml --wait --quiet',
    'emend run jobs/greet.md --yes --push emend/greet --draft-pr',
  ],
  list: [
    'emend list',
    'emend list --search "greeting parser" --repository .',
    'emend list --plan plans/010_greet.md --state failed',
    'emend list --before 2026-11-30 --limit 200 --json',
  ],
  calls: [
    'emend calls 3f2a',
    'emend calls 3f2a 2 --prompt',
    'emend calls 3f2a 2 --answer | emend patch -',
  ],
  show: ['emend show 3f2a', 'emend show 3f2a --context', 'emend show 3f2a --json'],
  diff: ['emend diff 3f2a', 'emend diff 3f2a | git apply --check'],
  review: ['emend review', 'emend review 3f2a'],
  watch: ['emend watch', 'emend watch 3f2a --wait', 'emend watch 3f2a --json'],
  report: ['emend report 3f2a --html --out report.html', 'emend report 3f2a'],
  evidence: [
    'emend evidence 3f2a',
    'emend evidence verify evidence.json --repository . --signers signers',
  ],
  hosts: ['emend hosts', 'EMEND_HOME=/srv/emend-2 emend hosts adopt 3f2a90c1'],
  mcp: ['emend mcp', 'emend mcp --workspace ../other'],
  stats: ['emend stats', 'emend stats --since 2026-01-01 --json'],
  init: ['emend init'],
  new: ['emend new job jobs/greet.md --file src/greet.js', 'emend new plan plans/010_greet.md'],
  completion: ['eval "$(emend completion bash)"', 'emend completion fish | source'],
  decide: [
    'emend decide 3f2a rebase',
    'emend decide 3f2a select --decision 1-3f2a90c1-0be1d2f4 --hunk src/a.ts:1,3',
    'emend decide 3f2a retry --set outputBudget_tokens=32768',
  ],
  approve: [
    'emend approve 3f2a',
    'emend approve 3f2a --decision 1-3f2a90c1-0be1d2f4 --file src/a.ts',
  ],
  skip: ['emend skip 3f2a --file src/b.ts'],
  retry: ['emend retry 3f2a --note "the tests are in test/"'],
  revise: ['emend revise 3f2a --note "keep the old name"', 'emend revise 3f2a --from-pr'],
  trust: ['emend trust review.yaml --check', 'emend trust emend.yaml'],
  abort: ['emend abort 3f2a'],
  move: [
    'emend move 3f2a --to ~/greet',
    'emend move 3f2a --as-repository https://example.org/greet.git',
  ],
  patch: ['emend patch answer.txt --check', 'git diff | emend patch -'],
  undo: ['emend undo --check', 'emend undo'],
  events: ['emend events 3f2a --follow'],
  plan: ['emend plan check plans/010_greet.md', 'emend plan expand phase plans/010_greet.md 2'],
  recover: ['emend recover', 'emend recover --undo 3f2a'],
  gc: ['emend gc --dry-run', 'emend gc --older-than 30'],
  backup: ['emend backup ~/emend-2026-01-31.backup'],
  restore: ['EMEND_HOME=/srv/emend emend restore ~/emend-2026-01-31.backup'],
  dev: ['emend dev'],
  web: ['emend web --port 8080'],
  worker: ['emend worker', 'emend worker --roles model,hosts', 'emend worker --deployment'],
  replay: ['emend replay'],
  doctor: ['emend doctor', 'emend doctor --deep'],
  rehearse: ['emend rehearse demo/script.yaml --port 4011'],
};
