/** `emend plan ...`: names, flags and help texts. */
import { Argument, Option, type Command } from 'commander';
import type { ExitCode } from '../shared/problems.js';
import type { Io } from './io.js';

/** The action of a command: its code is loaded when it runs, and gets the arguments and flags as commander has read them. */
export type Runs = (
  load: () => Promise<(io: Io, ...given: never[]) => ExitCode | Promise<ExitCode>>,
) => (...given: unknown[]) => Promise<void>;

// Options that several commands have.

export const collect = (value: string, earlier: readonly string[]): readonly string[] => [...earlier, value];
export const json = (): Option => new Option('--json', 'print JSON');
export const live = (): Option =>
  new Option('--live', 'also print what running model calls write, as it arrives').conflicts(['json', 'quiet']);
/** Of the commands that print more than their result: progress, or what to type next. */
export const quiet = (): Option =>
  new Option('--quiet', 'print the result and what went wrong, no progress and no hints');

/** With options that other commands have, too. */
export const prints = (command: Command, ...options: readonly Option[]): Command =>
  options.reduce((made, option) => made.addOption(option), command);

const PLAN = 'a plan: its Markdown file, or the folder of that name';

export const addPlan = (program: Command, runs: Runs): void => {
  const plan = program
    .command('plan')
    .description('a plan: its phases, waves and scores, and the files that they lie in');
  const look = (name: 'check' | 'score' | 'show', description: string): void => {
    prints(plan.command(name), json())
      .argument('<plan>', PLAN)
      .description(description)
      .action(runs(async () => (await import('./commands/plan-edit.js'))[name]));
  };
  const change = (verb: 'expand' | 'collapse', description: string, rule: string): void => {
    prints(plan.command(verb), json())
      .argument('<kind>', 'phase or stage')
      .argument('<plan>', PLAN)
      .argument('[n]', 'the phase, or PHASE.STAGE as in 2.1')
      .description(description)
      .option('--auto', rule)
      .action(runs(async () => (await import('./commands/plan-edit.js'))[verb]));
  };
  addPlanRuns(plan, runs);
  look('check', 'structure, waves, scores, and everything that is wrong, at once');
  look('score', 'the complexity of each phase, addend by addend');
  look('show', 'levels and files: what is expanded, and where its text is');
  change('expand', 'move the text of a phase or stage into a file of its own', 'those that are above a threshold');
  change(
    'collapse',
    'bring the text of a phase or stage back',
    'of completed phases with at most 5 tasks and a score below 6',
  );
};

const addPlanRuns = (plan: Command, runs: Runs): void => {
  prints(plan.command('run'), quiet(), json())
    .argument('<plan>', PLAN)
    .description('carry a plan out, phase by phase, or join its open run')
    .option('--estimate', 'only say how many calls, tokens and US dollars it is expected to take; starts nothing')
    .option('--phase <n>', 'begin with this phase; those before it are taken as done')
    .addOption(
      new Option('--sequential', 'one phase after the other, whatever the dependencies allow').conflicts('waves'),
    )
    .option('--waves', 'phases of a wave side by side; the default where a phase declares dependencies')
    .option('--auto', 'approve each phase by policy, as `approval: auto` does')
    .option('--restart', 'go by the markers of the document alone, whatever an earlier run left')
    .option('--force-replan', 'replan past the limit: the counter of the phase begins anew')
    .option('--report-scope-drift <text>', 'work that the plan does not hold; taken up before the first phase')
    .option('--dev', 'start what is missing (server, worker) for as long as this command runs')
    .option('--wait', 'wait through decisions that somebody answers elsewhere')
    .option('--yes', 'approve the estimate (within budgets) and every proposal here')
    .option(
      '--set <limit=value>',
      'a budget of the plan, or a setting of its phases as for `emend run` (repeatable)',
      collect,
      [],
    )
    .option('--hint <text>', 'goes into the prompts of this run; again and again', collect, [])
    .action(runs(async () => (await import('./commands/plan-run.js')).runPlan));
  const control = (name: 'pause' | 'resume', description: string): void => {
    prints(plan.command(name), quiet(), json())
      .argument('<plan>', PLAN)
      .description(description)
      .action(runs(async () => (await import('./commands/plan-run.js'))[name]));
  };
  control('pause', 'wait before the next phase');
  control('resume', 'go on after a pause, or start the plan where it was left');
  prints(plan.command('status'), json())
    .argument('<plan>', PLAN)
    .description('what the run of the plan does, phase by phase')
    .action(runs(async () => (await import('./commands/plan-run.js')).status));
  const report = (name: 'drift' | 'revise', text: string, description: string): void => {
    prints(plan.command(name), json())
      .argument('<plan>', PLAN)
      .argument('<text>', text)
      .description(`${description}; taken up before the next phase`)
      .action(runs(async () => (await import('./commands/plan-run.js'))[name]));
  };
  report('drift', 'what the plan does not hold', 'report work that is out of the scope of the plan');
  report('revise', 'what is to change', 'say how the plan is to be revised, by a replan');
  prints(plan.command('rollback'), json())
    .argument('<plan>', PLAN)
    .argument('<n>', 'the phase')
    .description('take back what a phase committed, with one new commit, and open the phase again')
    .action(runs(async () => (await import('./commands/plan-rollback.js')).rollback));
  prints(plan.command('stop'), quiet(), json())
    .argument('<plan>', PLAN)
    .description('end the run of the plan when the phase that is under way is done')
    .requiredOption('--after-phase', 'the only way to stop: `emend abort RUN` ends it at once')
    .action(runs(async () => (await import('./commands/plan-run.js')).stop));
};

// Commands beside a run: following it, reporting on it, and files to begin with. Names, flags and help texts.

export const RUN = 'the first 4 or more digits of a run, or its workflow id';
const OUT = (): Option => new Option('--out <file>', 'write it there instead of to stdout');

export const addAids = (program: Command, runs: Runs): void => {
  prints(program.command('watch'), quiet())
    .argument('[run]', `${RUN}; default: all open runs`)
    .description('a line for each change of a run, or of all open runs')
    .addOption(new Option('--json', 'print one JSON object a line'))
    .action(runs(async () => (await import('./commands/watch.js')).watch));

  prints(program.command('calls'), json())
    .argument('<run>', RUN)
    .argument('[n]', 'one call, by its number')
    .description('model calls of a run: file, model, tokens, money, time and outcome; or one with prompt and answer')
    .option('--prompt', 'only what was sent')
    .option('--answer', 'only what came back')
    .action(runs(async () => (await import('./commands/calls.js')).calls));

  prints(program.command('report'), quiet(), json())
    .argument('<run>', RUN)
    .description('what a run did, decided and cost: one file to read or to send')
    .addOption(new Option('--markdown', 'Markdown (default)').conflicts('html'))
    .addOption(new Option('--html', 'one HTML file that loads nothing from elsewhere'))
    .option('--whole', 'all that tests printed, not the last 200 lines')
    .addOption(OUT())
    .action(runs(async () => (await import('./commands/report.js')).report));

  const evidence = program
    .command('evidence')
    .argument('<run>', RUN)
    .description(
      'write what a run leaves as proof into its archive: an in-toto statement, signed where `evidenceKey` is set',
    )
    .action(runs(async () => (await import('./commands/evidence.js')).evidence));
  evidence
    .command('verify')
    .argument('<file>', 'the envelope')
    .description('check evidence with no server, and name what does not hold')
    .requiredOption('--repository <dir>', 'a clone that has the commit')
    .option('--archive <dir>', "the run's archive")
    .option('--signers <file>', 'who may sign, as allowed_signers; default: `approvers` of the commit that it began at')
    .action(runs(async () => (await import('./commands/evidence.js')).verify));

  program
    .command('mcp')
    .description('serve coding agents over stdin and stdout (MCP): check and propose changes; it never approves')
    .option('--workspace <dir>', 'the directory to change; default: the git repository here, else this directory')
    .action(runs(async () => (await import('./commands/mcp.js')).mcp));

  prints(program.command('stats'), json())
    .argument('[run]', RUN)
    .description('what runs and plans in the archive came to; of one plan: tokens and money per phase')
    .option('--since <day>', 'only runs that began on this day or later (YYYY-MM-DD)')
    .action(runs(async () => (await import('./commands/stats.js')).stats));

  prints(program.command('init'), quiet())
    .description('write a commented emend.yaml and a first job, where there are none')
    .action(runs(async () => (await import('./commands/init.js')).init));

  prints(program.command('new'), quiet())
    .addArgument(new Argument('<kind>', 'job or plan'))
    .argument('<path>', 'the Markdown file to write')
    .description('write a job or a plan to begin with')
    .option('--title <text>', 'its heading; default: from the name')
    .option('--file <path>', 'a file that the job edits (again and again)', collect, [])
    .action(runs(async () => (await import('./commands/init.js')).makeNew));

  program
    .command('completion')
    .argument('<shell>', 'bash, zsh or fish')
    .description('a script that completes commands, flags and files')
    .action(
      runs(async () => {
        const { completion } = await import('./commands/completion.js');
        return (io: Io, shell: string) => completion(io, program, shell);
      }),
    );
};

/** Examples that the help of each command shows. A test reads them with the command line's own parser. */
export const EXAMPLES: Readonly<Record<string, readonly string[]>> = {
  run: [
    'emend run jobs/greet.md --dev',
    'emend run jobs/greet.md --policy review.yaml --wait --quiet',
    'emend run jobs/greet.md --yes --push emend/greet --draft-pr',
  ],
  list: ['emend list', 'emend list --json'],
  calls: ['emend calls 3f2a', 'emend calls 3f2a 2 --prompt', 'emend calls 3f2a 2 --answer | emend patch -'],
  show: ['emend show 3f2a', 'emend show 3f2a --json'],
  diff: ['emend diff 3f2a', 'emend diff 3f2a | git apply --check'],
  review: ['emend review', 'emend review 3f2a'],
  watch: ['emend watch', 'emend watch 3f2a --json'],
  report: ['emend report 3f2a --html --out report.html', 'emend report 3f2a'],
  evidence: ['emend evidence 3f2a', 'emend evidence verify evidence.json --repository . --signers signers'],
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
  approve: ['emend approve 3f2a', 'emend approve 3f2a --decision 1-3f2a90c1-0be1d2f4 --file src/a.ts'],
  skip: ['emend skip 3f2a --file src/b.ts'],
  retry: ['emend retry 3f2a --note "the tests are in test/"'],
  revise: ['emend revise 3f2a --note "keep the old name"'],
  abort: ['emend abort 3f2a'],
  patch: ['emend patch answer.txt --check', 'git diff | emend patch -'],
  undo: ['emend undo --check', 'emend undo'],
  events: ['emend events 3f2a --follow'],
  plan: ['emend plan check plans/010_greet.md', 'emend plan expand phase plans/010_greet.md 2'],
  recover: ['emend recover', 'emend recover --undo 3f2a'],
  gc: ['emend gc --dry-run', 'emend gc --older-than 30'],
  dev: ['emend dev'],
  web: ['emend web --port 8080'],
  worker: ['emend worker'],
  doctor: ['emend doctor'],
  rehearse: ['emend rehearse demo/script.yaml --port 4011'],
};
