/** Completes the snapshot: the texts that calls show next to the targets, and the paths that are protected. */
import { join, relative } from 'node:path';
import * as jobs from '../../../documents/job/index.js';
import { readGivenText, UNREADABLE } from '../../../system/given-file.js';
import { gitPlaces } from '../../../workspace/commands/index.js';
import type { ConfigurationFile } from '../../../workspace/trust/index.js';
import { findSignatures } from '../find.js';
import { putText, textRefs, type Snapshot } from '../snapshot.js';
import type { CallPlan } from './calls.js';
import type { PreflightContext } from './context.js';
import type { Routing } from './routing.js';
import type { StepSettings } from './settings.js';

const MANIFESTS = 1_000; // bound: Manifests of a workspace whose scripts are read for files that they name.

export interface TakenSnapshot {
  readonly snapshot: Snapshot;
  /** Bytes of the signatures that a call for all targets shows. */
  readonly signatures_bytes: number;
}

interface SnapshotParts {
  readonly routing: Routing;
  readonly calls: CallPlan;
  /** Configuration as it was checked; null: it comes from a commit. */
  readonly checkedFiles: readonly ConfigurationFile[] | null;
}

export async function takeSnapshot(
  context: PreflightContext,
  settings: StepSettings,
  { routing, calls, checkedFiles }: SnapshotParts,
): Promise<TakenSnapshot> {
  const { ports, input, root, signal, listFiles } = context;
  const { job, config, snapshotBase } = settings;
  const { model, complexity, routedAs, limits, allTargets } = routing;
  const scriptFiles = await findScriptFiles(root, await listFiles());
  const signatures =
    config.context.signatures && calls.calledTargets.length > 0
      ? await findSignaturesAround(context, job, routing)
      : null;
  const reading = { ports, workspace: root, limits, signal };
  const snapshot: Snapshot = {
    ...snapshotBase,
    // The patterns of `emend.yaml` come last: they may except a file from the protection.
    config: { ...config, protected: [...scriptFiles, ...config.protected] },
    model,
    complexity,
    routedAs,
    limits,
    context: await textRefs({ ...reading, paths: job.contextFiles, jobPath: input.jobPath }),
    rules: await textRefs({
      ...reading,
      paths: ['CLAUDE.md', 'AGENTS.md', ...config.rules],
      jobPath: null,
      commit: input.configurationCommit,
      checked: checkedFiles ?? undefined,
    }),
    targets: allTargets,
    ...(signatures === null ? {} : { signatures: signatures.ref }),
    names: await putText(ports.blobs, (await listFiles()).join('\n')),
  };
  return { snapshot, signatures_bytes: signatures?.bytes ?? 0 };
}

const findSignaturesAround = async (
  { ports, root, signal, listFiles }: PreflightContext,
  { title, instructions }: jobs.Job,
  { allTargets }: Routing,
): ReturnType<typeof findSignatures> => {
  const search = { root, files: await listFiles(), task: `${title}\n${instructions}` };
  return findSignatures(ports, search, allTargets, signal);
};

/** Returns patterns of the files that the workspace's scripts and git's configuration run. */
async function findScriptFiles(root: string, files: readonly string[]): Promise<readonly string[]> {
  const manifests = files.filter((path) => /(?:^|\/)(?:package|composer)[.]json$/i.test(path));
  const patterns: string[] = [];
  for (const path of manifests.slice(0, MANIFESTS)) {
    const text = await readGivenText(join(root, path), UNREADABLE);
    patterns.push(...jobs.namedByScripts(path, text ?? ''));
  }
  const places = (await gitPlaces(root))?.places ?? [];
  const placesInside = places
    .map((place) => relative(root, place))
    .filter((place) => !/^\.\.(?:\/|$)|^\.git$/.test(place));
  return [...patterns, ...jobs.namedByGit(placesInside)];
}
