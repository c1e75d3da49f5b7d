/** The result for a step whose files are known: what the workflow goes by, without the contents that are in the snapshot. */
import type { BlobRef } from '../../../shared/ids.js';
import type { PreflightResult, Target } from '../../../shared/step-activities.js';
import type { SnapshotTarget } from '../snapshot.js';
import type { CallEstimate } from './call-estimate.js';
import type { CallPlan } from './calls.js';
import type { CommandPlan } from './commands.js';
import type { Routing } from './routing.js';
import type { StepSettings } from './settings.js';

const NO_SENTINEL =
  'requireCompleteSentinel is false: answers without a completeness marker are used; guarantee 1 does not hold';
const NO_POLICY = 'approval: auto is ignored: approvers are set, and one of them must sign';

type ReadyResult = Extract<PreflightResult, { readonly outcome: 'ready' }>;

interface ResultParts {
  readonly snapshot: BlobRef;
  readonly routing: Routing;
  readonly calls: CallPlan;
  readonly commands: CommandPlan;
  readonly callEstimate: CallEstimate;
  /** New files that are left out, with the reason. */
  readonly refusedFiles: ReadonlyMap<string, string>;
}

export const readyResult = (settings: StepSettings, parts: ResultParts): ReadyResult => {
  const { readJob, config, commit, approvers } = settings;
  const { snapshot, routing, calls, commands, callEstimate, refusedFiles } = parts;
  return {
    outcome: 'ready',
    ...(readJob === null ? {} : { job: readJob }),
    snapshot,
    limits: routing.limits,
    // A policy cannot sign, so a decision that needs a signature is asked for.
    approval: approvers === null ? settings.approval : 'ask',
    ...(approvers === null ? {} : { approvers }),
    ...commandFields(settings, commands),
    ...(config.formatCommand === null ? {} : { formats: true }),
    requireMarker: config.requireCompleteSentinel,
    targets: routing.targets.map(targetOf),
    shouldSplit: calls.shouldSplit,
    splitReason: calls.splitReason,
    complexity: routing.complexity,
    combined: calls.combined,
    briefWanted: calls.needsBrief,
    test: commands.tests,
    ...(config.audit === false ? {} : { audit: config.audit.when }),
    commitMessage: commit?.message ?? null,
    ...(commit?.head == null ? {} : { head: commit.head }),
    estimate: callEstimate.estimate,
    overEstimate: callEstimate.exceededLimits,
    warnings: warningsOf(settings, refusedFiles),
  };
};

const commandFields = (
  { job, config }: StepSettings,
  { runsTests, runsHooks, noSandbox, network, testsAfterApply }: CommandPlan,
): Pick<
  ReadyResult,
  'noSandbox' | 'network' | 'baseline' | 'testsAfterApply' | 'testsAfterApproval' | 'runsHooks'
> => {
  const baseline = job.baseline ?? config.baseline;
  const verify = job.verify ?? config.verify;
  return {
    ...(noSandbox === null ? {} : { noSandbox }),
    ...(network === null ? {} : { network }),
    ...(runsTests && baseline !== 'off' ? { baseline } : {}),
    ...(testsAfterApply === null ? {} : { testsAfterApply }),
    ...(verify === 'after_approval' ? { testsAfterApproval: true } : {}),
    ...(runsHooks ? { runsHooks } : {}),
  };
};

const targetOf = ({
  path,
  base,
  format,
  bucket,
  lines,
  bytes,
  outputBudget_tokens,
  deletes,
}: SnapshotTarget): Target => ({
  path,
  isNew: base === null,
  format,
  bucket,
  lines,
  bytes,
  outputBudget_tokens,
  ...(deletes === undefined ? {} : { deletes }),
});

const warningsOf = (
  { config, approvers, approval }: StepSettings,
  refusedFiles: ReadonlyMap<string, string>,
): readonly string[] => [
  ...(config.requireCompleteSentinel ? [] : [NO_SENTINEL]),
  ...(approvers !== null && approval === 'auto' ? [NO_POLICY] : []),
  ...[...refusedFiles].map(([path, reason]) => `the new file ${path} is left out: ${reason}`),
];
