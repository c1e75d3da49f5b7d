/** Plans the commands of a step: its tests, and whether a sandbox and an overlay are there for them. */
import * as jobs from '../../../documents/job/index.js';
import { fail } from '../../../shared/problems.js';
import type { TestPlan } from '../../../shared/test-plan.js';
import { tokensIn, withoutTokens } from '../../../shared/tokens.js';
import { realpath } from '../../../system/fs.js';
import { testPlan } from '../found-tests.js';
import type { PreflightContext } from './context.js';
import type { StepSettings } from './settings.js';

export interface CommandPlan {
  readonly tests: TestPlan;
  /** The step has tests, or found some that need a confirmation. */
  readonly runsTests: boolean;
  /** The repository has hooks that run before the step's commit. */
  readonly runsHooks: boolean;
  /** Why the step's commands have no sandbox; null: they have one, none is wanted, or no command runs. */
  readonly noSandbox: string | null;
  /** Networks that the commands reach, in words; null: none, or there is no sandbox. */
  readonly network: string | null;
  /** Why the tests run in the workspace after the apply; null: they run on an overlay before it, or there are none. */
  readonly testsAfterApply: string | null;
}

/** Throws ProblemError `config_invalid` for a command with a secret. */
export async function planCommands(
  context: PreflightContext,
  settings: StepSettings,
): Promise<CommandPlan> {
  const { ports, input } = context;
  const { job, config, commit } = settings;
  const { sandbox } = config;
  const commands = job.test ?? config.test ?? [];
  const tests = await testPlan(ports, input.workspace, commands, config.trustsTests);
  if (config.secrets !== 'send') refuseSecretCommands([...tests.commands, tests.found ?? '']);
  const runsTests = tests.commands.length > 0 || tests.found !== null;
  const mayRunHooks = commit !== null && config.hooks;
  const runsHooks = mayRunHooks && (await ports.repository.hasHooks(input.workspace));
  const runsCommands = runsTests || config.formatCommand !== null || mayRunHooks;
  const noSandbox =
    sandbox !== 'off' && runsCommands ? await ports.commands.withoutSandbox() : null;
  return {
    tests,
    runsTests,
    runsHooks,
    noSandbox,
    network: sandbox === 'off' || noSandbox !== null ? null : jobs.networkText(sandbox.network),
    testsAfterApply: runsTests ? await whyAfterApply(context, sandbox, noSandbox) : null,
  };
}

/** Refuses commands with a token. They are kept in the history, and could not run without it. */
const refuseSecretCommands = (commands: readonly string[]): void => {
  const secretCommand = commands.find((command) => tokensIn(command).length > 0);
  if (secretCommand !== undefined)
    fail(
      'config_invalid',
      `A test command contains what looks like a secret, and commands are kept in the history: ${withoutTokens(secretCommand)}`,
      'Put the secret into a variable of the worker, list its name under `env` in emend.yaml, and use the variable in the command.',
    );
};

/** Returns why the tests run in the workspace after the apply; null: they run on an overlay before it. */
async function whyAfterApply(
  { ports: { layers }, root }: PreflightContext,
  sandbox: jobs.ProjectConfig['sandbox'],
  noSandbox: string | null,
): Promise<string | null> {
  if (sandbox === 'off') return '`sandbox: off`';
  return noSandbox ?? layers.problem(await realpath(root));
}
