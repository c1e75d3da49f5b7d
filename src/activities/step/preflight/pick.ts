/** The result for a step whose files a model picks: the files to choose from, and the price of picking and editing one of them. */
import * as jobs from '../../../documents/job/index.js';
import type { PreflightResult } from '../../../shared/step-activities.js';
import { putJson } from '../../../stores/ports.js';
import { estimateEdits, refuseEarly, UNNAMED_bytes, type EstimatedFile } from '../estimate.js';
import { findCandidates } from '../find.js';
import { putText, type Snapshot } from '../snapshot.js';
import type { PreflightContext } from './context.js';
import type { StepSettings } from './settings.js';

/** No file is known yet, so the estimate is for one of a usual size. */
const UNKNOWN_FILE: EstimatedFile = {
  bytes: UNNAMED_bytes,
  lines: 0,
  isNew: false,
  format: 'whole-file',
};

/** Throws ProblemError `limit_reached`, `config_invalid`. */
export async function pickResult(
  context: PreflightContext,
  settings: StepSettings,
  files: readonly string[],
): Promise<PreflightResult> {
  const { ports, input } = context;
  const { job, config, readJob, taskText_bytes } = settings;
  const { model } = jobs.route(
    { ...config, limits: settings.limits },
    { category: job.category, complexity: 'low', jobModel: job.model },
  );
  const entry = jobs.modelEntry(config, model);
  const limits = jobs.fitLimits(settings.limits, entry);
  const snapshot: Snapshot = {
    ...settings.snapshotBase,
    complexity: 'low',
    routedAs: 'low',
    context: [],
    rules: [],
    targets: [],
    model,
    limits,
    pick: await findPick(context, job, files),
    ...(config.create === false ? {} : { names: await putText(ports.blobs, files.join('\n')) }),
  };
  const estimate = estimateEdits(config, model, [UNKNOWN_FILE], {
    text_bytes: taskText_bytes,
    effort: job.effort,
    limits: settings.limits,
    split: false,
    before: ['pick'],
  });
  refuseEarly(input.jobPath, { ...estimate, told_bytes: taskText_bytes }, limits, entry);
  return {
    outcome: 'pick',
    ...(readJob === null ? {} : { job: readJob }),
    snapshot: await putJson(ports.blobs, snapshot),
    estimate,
    budget_usd: limits.budget_usd,
  };
}

async function findPick(
  { ports, input, root, signal }: PreflightContext,
  job: jobs.Job,
  files: readonly string[],
): Promise<NonNullable<Snapshot['pick']>> {
  const lookedFor = input.lookFor ?? null;
  const task = [...(lookedFor ?? []), job.title, job.instructions].join('\n');
  const candidates = await findCandidates(ports, { root, files, task }, signal);
  return { candidates, files: files.length, lookedFor };
}
