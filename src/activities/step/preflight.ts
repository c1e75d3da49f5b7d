/**
 * Preflight: which files, which formats, which limits, what it may cost; all of it recorded before anything is paid for.
 * ◆ The result is kept under (stepKey, snapshot number) and returned unchanged ever after, whatever files, config or code are by then.
 */
import { join, relative } from 'node:path';
import { putJson } from '../../stores/ports.js';
import * as jobs from '../../documents/job/index.js';
import { fail, valueOf } from '../../shared/problems.js';
import { configurationOf } from '../../shared/run.js';
import { tokensIn, withoutTokens } from '../../shared/tokens.js';
import type {
  PreflightInput,
  PreflightResult,
  UntrustedConfiguration,
} from '../../shared/step-activities.js';
import { realpath } from '../../system/fs.js';
import { readGivenText, UNREADABLE } from '../../system/given-file.js';
import {
  configIn,
  configurationFiles,
  jobOf,
  readConfigAt,
  type ConfigurationFile,
} from '../../workspace/trust/index.js';
import { gitPlaces } from '../../workspace/commands/index.js';
import { checkWorkspace } from '../../workspace/documents/index.js';
import {
  eolsForNewFiles,
  listWorkspaceFiles,
  newFilesRefused,
} from '../../workspace/files/index.js';
import type { ActivityScope } from '../frame/activity.js';
import type { ActivityPorts } from '../frame/ports.js';
import { findCandidates, findSignatures } from './find.js';
import { untrustedConfiguration } from '../frame/configuration.js';
import { asRefused, recordOnce } from '../frame/recorded.js';
import { approversOf } from './approvers.js';
import { estimateEdits, overEstimate, refuseEarly, UNNAMED_bytes } from './estimate.js';
import { readJobSource, storedJob, type JobSource } from './job-source.js';
import * as snapshots from './snapshot.js';
import { chooseTargets } from './targets.js';
import { testPlan } from './found-tests.js';

const MANIFESTS = 1_000; // bound: Manifests of a workspace whose scripts are read for files that they name.
const NAMED = 10; // bound: Targets named whose names contain a secret.
const QUICK_BUILD_BYTES = 1_048_576; // bound: The proposal of larger files is built in an activity of its own, not inside a workflow task: it may take seconds.

const recordKey = (stepKey: string, number: number): string =>
  `steps/${stepKey}/preflight-${number}`;

export const preflight = async (
  ports: ActivityPorts,
  input: PreflightInput,
  { signal }: Pick<ActivityScope, 'signal'>,
): Promise<PreflightResult> => {
  const key = recordKey(input.stepKey, input.snapshotNumber);
  const recorded = await ports.records.get(key);
  if (recorded !== null) return recorded as PreflightResult;
  const obeyed = await obeyedBy(ports, input).catch(asRefused);
  if ('outcome' in obeyed) return obeyed;
  return recordOnce(
    ports.records,
    key,
    () => compute(ports, input, { signal, ...obeyed }).catch(asRefused),
    'later',
  );
};

/** What the run obeys: the content that was checked is the one that counts. */
interface Obeyed {
  readonly config: Awaited<ReturnType<typeof readConfigAt>>;
  readonly source: JobSource;
  /** Files that were checked; absent: all of them come from a commit. */
  readonly files?: readonly ConfigurationFile[];
}

/** Reads `emend.yaml` and the job once, and looks at them and at the files with instructions. */
async function obeyedBy(
  ports: ActivityPorts,
  input: PreflightInput,
): Promise<Obeyed | UntrustedConfiguration> {
  const { configurationCommit: commit } = input;
  const root = await ports.workspace.root(input.workspace);
  if (input.snapshotNumber === 1) await checkWorkspace(root);
  const source = await readJobSource(ports, root, input);
  // All of it comes from the target branch.
  if (commit !== undefined) return { config: await readConfigAt(root, commit), source };
  const files = await configurationFiles(root);
  const job = await jobOf(root, input.jobPath, source.text);
  const untrusted = await untrustedConfiguration(ports, root, [...files, job], input.trusts);
  return untrusted ?? { config: configIn(files), source, files };
}

async function compute(
  ports: ActivityPorts,
  input: PreflightInput,
  { signal, config: looked, source, files: checked }: Obeyed & { readonly signal: AbortSignal },
): Promise<PreflightResult> {
  const { blobs } = ports;
  const { workspace } = input;
  const root = await ports.workspace.root(workspace);
  const job = valueOf(jobs.parseJob(source.text, input.jobPath));
  const stored = await storedJob(ports, source, job.title);
  const config = valueOf(looked);
  const asked = jobs.resolveLimits(config, job, input.overrides);
  const { mode } = jobs.jobFormatPolicy(job);
  const commitMessage = messageOf(job, config, input);
  const at = commitMessage === null ? null : await ports.repository.head(workspace);
  if (commitMessage !== null && at === null)
    fail(
      'not_a_repository',
      `${input.jobPath}: commit is set, but ${workspace} is not in a git repository`,
    );

  const approvers = await approversOf(ports, workspace, config);
  const policy = input.approval ?? job.approval ?? config.approval;
  const secrets = job.secrets ?? config.secrets;
  const create = job.create ?? config.create ?? false;
  const requireMarker =
    input.overrides.requireCompleteSentinel ??
    job.requireCompleteSentinel ??
    config.requireCompleteSentinel;
  const base = {
    stepKey: input.stepKey,
    workspace,
    instructions: await snapshots.putText(blobs, job.instructions),
    category: job.category,
    effort: job.effort,
    job: { path: input.jobPath, sandbox: job.sandbox },
    ...configurationOf(input),
    config: {
      ...config,
      repair: job.repair ?? config.repair,
      requireCompleteSentinel: requireMarker,
      secrets: secrets === 'ask' && policy === 'auto' ? 'mask' : secrets, // nobody is there to be asked
      audit: job.audit ?? config.audit,
      sandbox: job.sandbox ?? config.sandbox,
      create,
      context: job.context ?? config.context,
    },
    hints: [...config.hints, ...input.hints],
    finalNewline: job.finalNewline,
  };
  const text_bytes = Buffer.byteLength([job.instructions, ...base.hints].join('\n'));
  const told = { text_bytes, effort: job.effort, limits: asked };
  const { made = [] } = input;
  const earlier = made.length > 0 || input.only !== null ? await earlierTargets(ports, input) : [];
  // What was there before as a new file may have been made since, by a person or by this run.
  const unseen = made.filter((path) => !earlier.some((target) => target.path === path));
  const refused = await newFilesRefused(root, unseen, base.config);
  const mayBeMade = (path: string): boolean => !refused.has(path);
  const chosen = await chooseTargets({
    workspace: root,
    job,
    jobPath: input.jobPath,
    picked: input.picked?.filter(mayBeMade) ?? null,
    mustPick: input.pick === true,
    showsTokens: secrets === 'send',
    made: made.filter(mayBeMade),
    mayCreate: create !== false,
    limits: asked,
    commits: commitMessage !== null,
    // What a person saved since the first look is why there is another one: the commit takes the proposal's hunks alone.
    mustBeClean: commitMessage !== null && input.snapshotNumber === 1,
  });
  if (secrets !== 'send')
    await failOnSecretNames(
      ports,
      input.jobPath,
      chosen.outcome === 'pick' ? [] : chosen.paths,
      signal,
    );
  if (chosen.outcome === 'pick') {
    const { model } = jobs.route(
      { ...config, limits: asked },
      { category: job.category, complexity: 'low', jobModel: job.model },
    );
    const entry = jobs.modelEntry(config, model);
    const limits = jobs.fitLimits(asked, entry);
    const levels = { complexity: 'low', routedAs: 'low' } as const;
    const empty = { context: [], rules: [], targets: [] };
    const { files } = chosen;
    const lookedFor = input.lookFor ?? null;
    const task = [...(lookedFor ?? []), job.title, job.instructions].join('\n');
    const candidates = await findCandidates(ports, { root, files, task }, signal);
    const pick = { candidates, files: files.length, lookedFor };
    const names =
      create === false ? {} : { names: await snapshots.putText(blobs, files.join('\n')) };
    const snapshot: snapshots.Snapshot = {
      ...base,
      ...levels,
      ...empty,
      model,
      limits,
      pick,
      ...names,
    };
    const unknown = [
      { bytes: UNNAMED_bytes, lines: 0, isNew: false, format: 'whole-file' },
    ] as const;
    const estimate = estimateEdits(base.config, model, unknown, {
      ...told,
      split: false,
      before: ['pick'],
    });
    refuseEarly(input.jobPath, { ...estimate, told_bytes: told.text_bytes }, limits, entry);
    return {
      outcome: 'pick',
      ...(stored === null ? {} : { job: stored }),
      snapshot: await putJson(blobs, snapshot),
      estimate,
      budget_usd: limits.budget_usd,
    };
  }

  const wanted =
    input.only === null ? chosen.paths : chosen.paths.filter((path) => input.only?.includes(path));
  let listed: Promise<readonly string[]> | null = null;
  const siblings = () => (listed ??= listWorkspaceFiles(root));
  let ended: ReturnType<typeof eolsForNewFiles> | null = null;
  const eols = () => (ended ??= siblings().then((files) => eolsForNewFiles(root, wanted, files)));
  const sized = await Promise.all(
    wanted.map((path) =>
      snapshots.snapshotTarget({
        ports,
        workspace: root,
        path,
        config: base.config,
        limits: asked,
        siblings,
        eols,
        signal,
        deletes: chosen.deleted.includes(path),
      }),
    ),
  );
  const kept = input.only === null ? [] : earlier;
  const level = jobs.complexity(snapshots.edited([...sized, ...kept]));
  const routedAs = jobs.harderOf(level, job.complexity);
  const routed = jobs.route(
    { ...config, limits: asked },
    { category: job.category, complexity: routedAs, jobModel: job.model },
  );
  const { model } = routed;
  const entry = jobs.modelEntry(config, model);
  const limits = jobs.fitLimits(asked, entry);
  const outputBudget_tokens = Math.min(routed.outputBudget_tokens, jobs.mostOutput_tokens(entry));
  const formats = jobs.formatsOf(config, model);
  const targets = sized.map((file): snapshots.SnapshotTarget => {
    const isNew = file.base === null;
    const { format, bucket } = jobs.chooseFormat({
      ...file,
      isNew,
      job,
      config: { formats },
      limits,
    });
    const isMade = isNew && made.includes(file.path);
    return { ...file, format, bucket, outputBudget_tokens, ...(isMade ? { made: isMade } : {}) };
  });
  const asking = snapshots.edited(targets);
  const called = input.given === true ? [] : asking;
  const split = jobs.splitDecision({
    mode,
    complexity: level,
    formats: called.map((target) => target.format),
    limits,
  });
  const named = await scriptFiles(root, await siblings());
  const all = [...kept.filter((target) => !wanted.includes(target.path)), ...targets];
  const look = { root, files: await siblings(), task: `${job.title}\n${job.instructions}` };
  const isTold = base.config.context.signatures && called.length > 0;
  const signatures = isTold ? await findSignatures(ports, look, all, signal) : null;
  const reading = { ports, workspace: root, limits, signal };
  const snapshot: snapshots.Snapshot = {
    ...base,
    config: { ...base.config, protected: [...named, ...base.config.protected] },
    model,
    complexity: level,
    routedAs,
    limits,
    context: await snapshots.textRefs({
      ...reading,
      paths: job.contextFiles,
      jobPath: input.jobPath,
    }),
    rules: await snapshots.textRefs({
      ...reading,
      paths: ['CLAUDE.md', 'AGENTS.md', ...config.rules],
      jobPath: null,
      commit: input.configurationCommit,
      checked,
    }),
    targets: all,
    ...(signatures === null ? {} : { signatures: signatures.ref }),
    names: await snapshots.putText(blobs, (await siblings()).join('\n')),
  };
  const tests = await testPlan(ports, workspace, job.test ?? config.test ?? [], config.trustsTests);
  if (secrets !== 'send') failOnSecretCommand([...tests.commands, tests.found ?? '']);
  const runsTests = tests.commands.length > 0 || tests.found !== null;
  const runs = runsTests || config.formatCommand !== null;
  const runsHooks =
    commitMessage !== null && config.hooks && (await ports.repository.hasHooks(workspace));
  const isQuick =
    config.formatCommand === null &&
    all.every(({ bytes }) => bytes <= QUICK_BUILD_BYTES / all.length);
  const noSandbox =
    snapshot.config.sandbox !== 'off' && (runs || (commitMessage !== null && config.hooks))
      ? await ports.commands.withoutSandbox()
      : null;
  const { sandbox } = snapshot.config;
  const network = sandbox === 'off' ? null : jobs.networkText(sandbox.network);
  // Files that are written one after the other see each other; only an edit of existing files needs names agreed on beforehand.
  const briefWanted = split.shouldSplit && asking.length > 1 && mode !== 'sequential';
  // No policy signs.
  const approval = approvers === null ? policy : 'ask';
  const baseline = job.baseline ?? config.baseline;
  const verify = job.verify ?? config.verify;
  const testsAfterApply = runsTests
    ? await whyAfterApply(ports, { workspace, sandbox: snapshot.config.sandbox, noSandbox })
    : null;
  const { audit } = snapshot.config;
  const besides = [
    ...snapshot.context,
    ...snapshot.rules,
    ...(signatures === null ? [] : [signatures]),
  ];
  const bytesWith = (texts: readonly { readonly bytes?: number }[]): number =>
    texts.reduce((sum, { bytes = 0 }) => sum + bytes, text_bytes);
  const estimate = estimateEdits(
    snapshot.config,
    model,
    called.map(({ bytes, lines, base, format }) => ({
      bytes,
      lines,
      isNew: base === null,
      format,
    })),
    {
      ...told,
      split: split.shouldSplit,
      before: briefWanted ? ['brief'] : [],
      text_bytes: bytesWith(besides),
    },
  );
  if (input.snapshotNumber === 1 || input.picked !== null)
    refuseEarly(
      input.jobPath,
      { ...estimate, told_bytes: called.length > 0 ? bytesWith(snapshot.rules) : 0 },
      limits,
      entry,
    );
  return {
    outcome: 'ready',
    ...(stored === null ? {} : { job: stored }),
    snapshot: await putJson(blobs, snapshot),
    limits,
    approval,
    ...(approvers === null ? {} : { approvers }),
    ...(noSandbox === null ? {} : { noSandbox }),
    ...(network === null || noSandbox !== null ? {} : { network }),
    ...(runsTests && baseline !== 'off' ? { baseline } : {}),
    ...(testsAfterApply === null ? {} : { testsAfterApply }),
    ...(verify === 'after_approval' ? { testsAfterApproval: true as const } : {}),
    ...(isQuick ? { quickBuild: true } : {}),
    ...(config.formatCommand === null ? {} : { formats: true }),
    ...(runsHooks ? { runsHooks: true } : {}),
    requireMarker,
    targets: targets.map(
      ({
        path,
        base: from,
        format,
        bucket,
        lines,
        bytes,
        outputBudget_tokens: budget,
        deletes,
      }) => ({
        path,
        isNew: from === null,
        format,
        bucket,
        lines,
        bytes,
        outputBudget_tokens: budget,
        ...(deletes === undefined ? {} : { deletes }),
      }),
    ),
    shouldSplit: split.shouldSplit,
    splitReason: split.reason,
    complexity: level,
    combined:
      split.shouldSplit || asking.length < 2
        ? null
        : { format: asking[0]?.format ?? 'whole-file', outputBudget_tokens },
    briefWanted,
    test: tests,
    ...(audit === false ? {} : { audit: audit.when }),
    commitMessage,
    ...(at?.head == null ? {} : { head: at.head }),
    estimate,
    overEstimate: overEstimate(estimate, limits, { files: called, split: split.shouldSplit }),
    warnings: [
      ...(requireMarker ? [] : [NO_SENTINEL]),
      ...(approvers !== null && policy === 'auto' ? [NO_POLICY] : []),
      ...[...refused].map(([path, why]) => `the new file ${path} is left out: ${why}`),
    ],
  };
}

/**
 * Refuses targets whose names contain a secret. A path is the key of everything that a run knows of a file, so none can be replaced in the
 * history, the archive and on screens as words can.
 */
async function failOnSecretNames(
  { edits }: ActivityPorts,
  jobPath: string,
  paths: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const secrets = (await edits.run('secrets', paths.join('\n'), signal)).flat();
  const named = paths.filter((path) => secrets.some((secret) => path.includes(secret)));
  const shown = named.map((path) =>
    secrets.reduce((text, secret) => text.replaceAll(secret, '(secret)'), path),
  );
  if (shown.length > 0)
    fail(
      'secret_in_name',
      `${jobPath}: the name of a target contains what looks like a secret, and names are kept in the history and shown: ${shown.slice(0, NAMED).join(', ')}`,
    );
}

/** Refuses commands with a token: they are kept in the history, and could not run without it. */
const failOnSecretCommand = (commands: readonly string[]): void => {
  const found = commands.find((command) => tokensIn(command).length > 0);
  if (found !== undefined)
    fail(
      'config_invalid',
      `A test command contains what looks like a secret, and commands are kept in the history: ${withoutTokens(found)}`,
      'Put the secret into a variable of the worker, list its name under `env` in emend.yaml, and use the variable in the command.',
    );
};

/** What the workspace's scripts and git's configuration run is protected as they are. Before the patterns of `emend.yaml`, which may take it out. */
async function scriptFiles(root: string, names: readonly string[]): Promise<readonly string[]> {
  const patterns: string[] = [];
  for (const path of names
    .filter((name) => /(?:^|\/)(?:package|composer)[.]json$/i.test(name))
    .slice(0, MANIFESTS))
    patterns.push(
      ...jobs.namedByScripts(path, (await readGivenText(join(root, path), UNREADABLE)) ?? ''),
    );
  const places = ((await gitPlaces(root))?.places ?? []).map((place) => relative(root, place));
  return [
    ...patterns,
    ...jobs.namedByGit(places.filter((place) => !/^\.\.(?:\/|$)|^\.git$/.test(place))),
  ];
}

const NO_SENTINEL =
  'requireCompleteSentinel is false: answers without a completeness marker are used; guarantee 1 does not hold';
const NO_POLICY = 'approval: auto is ignored: approvers are set, and one of them must sign';

/** What a run on a repository made is the commit that it pushes. */
const messageOf = (
  job: jobs.Job,
  config: jobs.ProjectConfig,
  { repository }: PreflightInput,
): string | null => {
  const wanted = job.commit ?? (repository !== undefined || (config.commit ?? false));
  if (wanted === false) return null;
  return typeof wanted === 'string' ? wanted : job.title;
};

/** Targets of the snapshot before, which keep their base when only some get a new one. */
async function earlierTargets(
  ports: ActivityPorts,
  input: PreflightInput,
): Promise<readonly snapshots.SnapshotTarget[]> {
  for (let number = input.snapshotNumber - 1; number > 0; number--) {
    const earlier = (await ports.records.get(recordKey(input.stepKey, number))) as
      | PreflightResult
      | null
      | undefined;
    if (earlier?.outcome === 'ready')
      return (await snapshots.getSnapshot(ports.blobs, earlier.snapshot)).targets;
  }
  return [];
}

/** Returns why the tests run in the workspace after the apply; null: they run on an overlay before it. */
async function whyAfterApply(
  { workspace, layers }: ActivityPorts,
  run: {
    readonly workspace: string;
    readonly sandbox: jobs.ProjectConfig['sandbox'];
    readonly noSandbox: string | null;
  },
): Promise<string | null> {
  if (run.sandbox === 'off') return '`sandbox: off`';
  return run.noSandbox ?? layers.problem(await realpath(await workspace.root(run.workspace)));
}
