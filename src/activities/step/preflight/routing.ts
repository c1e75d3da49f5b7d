/** Sizes the targets of a step, and chooses by their size the model, the output budget, and the format of each. */
import * as jobs from '../../../documents/job/index.js';
import type { Limits } from '../../../shared/limits.js';
import { fail } from '../../../shared/problems.js';
import { eolsForNewFiles } from '../../../workspace/files/index.js';
import { edited, snapshotTarget, type SizedTarget, type SnapshotTarget } from '../snapshot.js';
import { once, type PreflightContext } from './context.js';
import type { StepSettings } from './settings.js';
import type { ChosenTargets } from './target-choice.js';

export interface Routing {
  /** Targets with a base of this snapshot. */
  readonly targets: readonly SnapshotTarget[];
  /** All targets of the step: with those that keep the base of the last snapshot. */
  readonly allTargets: readonly SnapshotTarget[];
  readonly complexity: jobs.Complexity;
  /** The harder of `complexity` and what the job says. */
  readonly routedAs: jobs.Complexity;
  readonly model: string;
  readonly entry: ReturnType<typeof jobs.modelEntry>;
  /** Limits that fit the model. */
  readonly limits: Limits;
  readonly outputBudget_tokens: number;
}

export async function routeTargets(
  context: PreflightContext,
  settings: StepSettings,
  chosen: ChosenTargets,
): Promise<Routing> {
  const { job, config } = settings;
  const { keptTargets, paths } = chosen;
  const sizedTargets = await sizeTargets(context, settings, chosen);
  const complexity = jobs.complexity(edited([...sizedTargets, ...keptTargets]));
  const routedAs = jobs.harderOf(complexity, job.complexity);
  const route = jobs.route(
    { ...config, limits: settings.limits },
    { category: job.category, complexity: routedAs, jobModel: job.model },
  );
  const entry = jobs.modelEntry(config, route.model);
  const limits = jobs.fitLimits(settings.limits, entry);
  const outputBudget_tokens = Math.min(route.outputBudget_tokens, jobs.mostOutput_tokens(entry));
  const formats = jobs.formatsOf(config, route.model);
  const newFiles = context.input.made ?? [];
  const targets = sizedTargets.map((file): SnapshotTarget => {
    const isNew = file.base === null;
    const choice =
      file.isBinary === true
        ? formatOfBinary(file.path, job, formats)
        : jobs.chooseFormat({ ...file, isNew, job, config: { formats }, limits });
    const isNamedByModel = isNew && newFiles.includes(file.path);
    return {
      ...file,
      format: choice.format,
      bucket: choice.bucket,
      outputBudget_tokens,
      ...(isNamedByModel ? { made: isNamedByModel } : {}),
    };
  });
  return {
    targets,
    allTargets: [...keptTargets.filter(({ path }) => !paths.includes(path)), ...targets],
    complexity,
    routedAs,
    model: route.model,
    entry,
    limits,
    outputBudget_tokens,
  };
}

/** Returns the format in which a binary file can be renamed. Throws ProblemError `target_binary` if the job or `emend.yaml` rules it out. */
function formatOfBinary(
  path: string,
  job: jobs.Job,
  formats: ReturnType<typeof jobs.formatsOf>,
): Pick<SnapshotTarget, 'format' | 'bucket'> {
  const format = 'unified-diff';
  const { forced } = jobs.jobFormatPolicy(job);
  if (forced === null ? formats[format] : forced === format) return { format, bucket: 'A' };
  return fail(
    'target_binary',
    `${path} is a binary file, which can only be renamed, and ${forced === null ? '`emend.yaml` switches `unified-diff` off' : `the format \`${forced}\` cannot rename a file`}.`,
    `Rename it in a job with \`format: ${format}\`.`,
  );
}

/** Keeps the bytes of the targets. Throws ProblemError for one that cannot be edited. */
function sizeTargets(
  { ports, root, signal, listFiles }: PreflightContext,
  { config, limits }: StepSettings,
  { paths, deletedPaths }: ChosenTargets,
): Promise<readonly SizedTarget[]> {
  const readLineEnds = once(async () => eolsForNewFiles(root, paths, await listFiles()));
  return Promise.all(
    paths.map((path) =>
      snapshotTarget({
        ports,
        workspace: root,
        path,
        config,
        limits,
        siblings: listFiles,
        eols: readLineEnds,
        signal,
        deletes: deletedPaths.includes(path),
      }),
    ),
  );
}
