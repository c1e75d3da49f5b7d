/** `emend plan ...`: names, flags and help texts. */
import { Option, type Command } from 'commander';
import type { ExitCode } from '../shared/problems.js';
import type { Io } from './io.js';
import { collect, json, quiet } from './program-options.js';

const PLAN = 'a plan: its Markdown file, or the folder of that name';

export const addPlan = (program: Command, io: Io, finish: (code: ExitCode) => void): void => {
  const plan = program
    .command('plan')
    .description('a plan: its phases, waves and scores, and the files that they lie in');
  const look = (name: 'check' | 'score' | 'show', description: string): void => {
    plan
      .command(name)
      .argument('<plan>', PLAN)
      .description(description)
      .addOption(json())
      .action(async (path: string, flags: object) => {
        const commands = await import('./commands/plan.js');
        finish(await commands[name](io, path, flags));
      });
  };
  const change = (verb: 'expand' | 'collapse', description: string, rule: string): void => {
    plan
      .command(verb)
      .argument('<kind>', 'phase or stage')
      .argument('<plan>', PLAN)
      .argument('[n]', 'the phase, or PHASE.STAGE as in 2.1')
      .description(description)
      .option('--auto', rule)
      .addOption(json())
      .action(async (kind: string, path: string, n: string | undefined, flags: object) => {
        const { changePlan } = await import('./commands/plan-change.js');
        finish(await changePlan(io, verb, kind, path, n, flags));
      });
  };
  addPlanRuns(plan, io, finish);
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

const addPlanRuns = (plan: Command, io: Io, finish: (code: ExitCode) => void): void => {
  plan
    .command('run')
    .argument('<plan>', PLAN)
    .description('carry a plan out, phase by phase, or join its open run')
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
    .option('--set <limit=value>', 'set a budget of the plan, or a limit of its phases; again and again', collect, [])
    .option('--hint <text>', 'goes into the prompts of this run; again and again', collect, [])
    .addOption(quiet())
    .addOption(json())
    .action(async (path: string, flags: object) => {
      const { runPlan } = await import('./commands/plan-run.js');
      finish(await runPlan(io, path, flags as Parameters<typeof runPlan>[2]));
    });
  const wish = (name: 'pause' | 'resume', description: string): void => {
    plan
      .command(name)
      .argument('<plan>', PLAN)
      .description(description)
      .addOption(quiet())
      .addOption(json())
      .action(async (path: string, flags: object) => {
        const commands = await import('./commands/plan-wish.js');
        finish(await commands[name](io, path, flags));
      });
  };
  wish('pause', 'wait before the next phase');
  wish('resume', 'go on after a pause, or start the plan where it was left');
  plan
    .command('status')
    .argument('<plan>', PLAN)
    .description('what the run of the plan does, phase by phase')
    .addOption(json())
    .action(async (path: string, flags: object) => {
      const { status } = await import('./commands/plan-wish.js');
      finish(await status(io, path, flags));
    });
  plan
    .command('drift')
    .argument('<plan>', PLAN)
    .argument('<text>', 'what the plan does not hold')
    .description('report work that is out of the scope of the plan; taken up before the next phase')
    .addOption(json())
    .action(async (path: string, text: string, flags: object) => {
      const { drift } = await import('./commands/plan-wish.js');
      finish(await drift(io, path, text, flags));
    });
  plan
    .command('rollback')
    .argument('<plan>', PLAN)
    .argument('<n>', 'the phase')
    .description('take back what a phase committed, with one new commit, and open the phase again')
    .addOption(json())
    .action(async (path: string, n: string, flags: object) => {
      const { rollback } = await import('./commands/plan-rollback.js');
      finish(await rollback(io, path, n, flags));
    });
  plan
    .command('stop')
    .argument('<plan>', PLAN)
    .description('end the run of the plan when the phase that is under way is done')
    .requiredOption('--after-phase', 'the only way to stop: `emend abort RUN` ends it at once')
    .addOption(quiet())
    .addOption(json())
    .action(async (path: string, flags: object) => {
      const { stop } = await import('./commands/plan-wish.js');
      finish(await stop(io, path, flags));
    });
};
