/**
 * Lists what a configuration or a job allows beyond the defaults, as short texts. Two lists can be compared, so that a reader sees what a
 * changed file would newly allow. Pure.
 */
import type { SandboxSettings } from '../source/schemas.js';
import type { Job, ProjectConfig } from './types.js';

/** The keys that `emend.yaml`, a job and the front matter of a plan have in common. A key that is not set is absent or null. */
type Grantor = Partial<
  Pick<
    Job,
    'contextFiles' | 'sandbox' | 'approval' | 'secrets' | 'create' | 'test' | 'baseline' | 'model'
  > &
    Pick<Job, 'limits' | 'commit' | 'requireCompleteSentinel' | 'repository'>
>;

/** Returns what the keys of a job or a plan's front matter allow. */
export const grantsOf = (settings: Grantor): readonly string[] => [
  ...sandboxGrants(settings.sandbox ?? null),
  ...when(settings.approval === 'auto', 'apply changes without your approval (`approval: auto`)'),
  ...when(settings.secrets === 'send', 'send secrets to the model (`secrets: send`)'),
  ...when(settings.create === true, 'create files that no job names (`create: true`)'),
  ...(Array.isArray(settings.create) ? settings.create : []).map(
    (pattern: string) => `create files that match ${pattern} (\`create\`)`,
  ),
  ...when(settings.commit === true || typeof settings.commit === 'string', 'commit (`commit`)'),
  ...when(
    settings.requireCompleteSentinel === false,
    'use responses without a completeness marker (`requireCompleteSentinel: false`)',
  ),
  ...commandGrants(settings.test),
  ...(settings.contextFiles ?? []).map((path) => `send ${path} to the model (\`context_files\`)`),
  ...when(
    settings.baseline === 'off' || settings.baseline === 'known',
    `apply a change although tests fail (\`baseline: ${settings.baseline ?? ''}\`)`,
  ),
  ...named(settings.model, (model) => `pay for the model ${model} (\`model\`)`),
  ...named(settings.repository, (url) => `edit the repository ${url} (\`repository\`)`),
  ...Object.entries(settings.limits ?? {}).map(
    ([name, value]) => `use the limit ${name} = ${value}`,
  ),
];

/** Returns what an `emend.yaml` allows. */
export const grantsOfConfig = (config: ProjectConfig): readonly string[] => [
  ...grantsOf(config),
  ...named(config.formatCommand, (command) => `run \`${command}\` (\`format\`)`),
  ...named(config.worktree?.setup, (command) => `run \`${command}\` (\`worktree.setup\`)`),
  ...when(
    config.trustsTests === true,
    'run test commands that the repository names, without a question (`test_discovery: trust`)',
  ),
  ...config.env.map((name) => `show commands the variable ${name} (\`env\`)`),
  ...config.protected
    .filter((pattern) => pattern.startsWith('!'))
    .map((pattern) => `change ${pattern.slice(1)} without a reviewer (\`protected\`)`),
  ...config.rules.map((path) => `give the model the instructions in ${path} (\`rules\`)`),
  ...config.hints.map((hint) => `give the model the hint "${hint}" (\`hints\`)`),
  ...config.routes.map(({ model }) => `pay for the model ${model} (\`routes\`)`),
  ...Object.entries(config.models).map(
    ([name, { input_usd, output_usd }]) =>
      `take ${input_usd ?? '?'} and ${output_usd ?? '?'} US dollars as the price of ${name} (\`models\`)`,
  ),
  ...Object.entries(config.guards)
    .filter(([, severity]) => severity === 'note')
    .map(([name]) => `apply what the guard ${name} finds without a question (\`guards\`)`),
];

/** Returns what is allowed because `after` lacks a protection of `before`, such as a protected pattern or the file of approvers. */
const lostProtection = (after: ProjectConfig, before: ProjectConfig): readonly string[] => [
  ...when(
    hasCommands(before.test) && !hasCommands(after.test),
    'apply changes untested (`test` is removed)',
  ),
  ...when(before.audit !== false && after.audit === false, 'apply changes unaudited (`audit`)'),
  ...when(before.hooks && !after.hooks, 'commit without hooks (`hooks: false`)'),
  ...when(before.sign !== false && after.sign === false, 'commit unsigned (`sign: false`)'),
  ...when(before.verify !== after.verify, `test at another time (\`verify: ${after.verify}\`)`),
  ...Object.keys(before.limits)
    .filter((name) => !(name in after.limits))
    .map((name) => `use the default of the limit ${name}`),
  ...before.protected
    .filter((pattern) => !pattern.startsWith('!') && !after.protected.includes(pattern))
    .map((pattern) => `change ${pattern} without a reviewer (\`protected\` no longer lists it)`),
  ...when(
    before.approvers !== null && after.approvers !== before.approvers,
    'decide without a signature (`approvers` changed)',
  ),
];

/** Returns what `after` allows and `before` does not. */
export const newGrants = (after: ProjectConfig, before: ProjectConfig): readonly string[] => {
  const known = new Set(grantsOfConfig(before));
  return [
    ...grantsOfConfig(after).filter((grant) => !known.has(grant)),
    ...lostProtection(after, before),
  ];
};

const when = (holds: boolean, grant: string): readonly string[] => (holds ? [grant] : []);

const named = (
  value: string | null | undefined,
  grant: (value: string) => string,
): readonly string[] => (value === null || value === undefined ? [] : [grant(value)]);

function sandboxGrants(sandbox: SandboxSettings | 'off' | null): readonly string[] {
  if (sandbox === null) return [];
  if (sandbox === 'off') return ['run commands without the sandbox (`sandbox: off`)'];
  return [
    ...networkGrants(sandbox),
    ...sandbox.read.map((path) => `let commands read ${path} (\`sandbox.read\`)`),
    ...sandbox.write.map((path) => `let commands write ${path} (\`sandbox.write\`)`),
  ];
}

const networkGrants = ({ network }: SandboxSettings): readonly string[] =>
  !network
    ? []
    : [`let commands use the network (\`sandbox.network: ${JSON.stringify(network)}\`)`];

const hasCommands = (test: ProjectConfig['test']): boolean => test !== null && test.length > 0;

function commandGrants(test: Grantor['test']): readonly string[] {
  if (test === null || test === undefined) return [];
  if (test === 'auto') return [];
  return test.map((command) => `run \`${command}\` (\`test\`)`);
}
