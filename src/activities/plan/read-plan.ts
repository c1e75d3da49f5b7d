/** Reads a plan and all that its run goes by. ◆ The result is kept under (stepKey, reading) and returned unchanged ever after. */
import { readFiles } from './read-files.js';
import { putJson } from '../../stores/ports.js';
import type {
  PhaseId,
  PhaseMarker,
  PhaseCategory,
  PhaseReading,
  PlanTests,
  ReadyPlan,
} from '../../shared/plan.js';
import { resolveLimits, type ProjectConfig } from '../../documents/job/index.js';
import {
  checkWorkspace,
  discoverPlanTests,
  type ReadPlan,
  inWorkspace,
  pathsOfPlan,
  refuseFaults,
} from '../../workspace/documents/index.js';
import * as plans from '../../documents/plan/index.js';
import type {
  ReadPlanInput,
  ReadPlanResult,
  PhaseText,
  PhaseTexts,
  SamePlan,
} from '../../shared/plan-activities.js';
import { fail, valueOf } from '../../shared/problems.js';
import type { UntrustedConfiguration } from '../../shared/step-activities.js';
import type { Limits } from '../../shared/limits.js';
import { dirtyPaths } from '../../workspace/files/index.js';
import { short } from '../../shared/text.js';
import { canonicalJson, sha256 } from '../../system/hash.js';
import { findSecrets, hideSecrets } from '../../system/secrets.js';
import type { ActivityPorts } from '../frame/ports.js';
import { untrustedConfiguration } from '../frame/configuration.js';
import { asRefused, recordOnce } from '../frame/recorded.js';
import {
  configIn,
  configurationFiles,
  contentHash,
  fileAtCommit,
  readConfigAt,
  type ConfigurationFile,
} from '../../workspace/trust/index.js';
import { configurationOf } from '../../shared/run.js';
import { approversOf } from '../step/approvers.js';
import type { PlanSettings } from './plan-call.js';
import { estimatePhase, mostOfPhase } from './estimate.js';
import { filesOf } from './phase-job.js';
import { checkpointOfRun, findResumePoint } from './resume.js';
import { foundTests, testPlanOf } from '../step/found-tests.js';

// bound: A mark that is gone each time the plan is read is written this often again; then a person is asked who takes it out.
const LOST_MARKS = 3;
const TASKS_SHOWN = 30; // bound: Tasks that the event of a phase's begin shows,
const TASK_SHOWN_CHARS = 120; // bound: and of each this much.
const NOTES_SHOWN = 20; // bound: Notes on the documents that a run tells of,
const NOTE_SHOWN_CHARS = 300; // bound: and of each this much.

export const readPlan = async (
  ports: ActivityPorts,
  input: ReadPlanInput,
): Promise<ReadPlanResult> => {
  const key = `steps/${input.stepKey}/plan-${input.reading}`;
  const recorded = await ports.records.get(key);
  if (recorded !== null) return recorded as ReadyPlan | SamePlan;
  const trusted = await trustedFiles(ports, input).catch(asRefused);
  if ('outcome' in trusted) return trusted;
  return recordOnce(ports.records, key, () => compute(ports, input, trusted).catch(asRefused));
};

/** What the run obeys, read once: the content that was checked is the one that counts. */
interface TrustedFiles {
  readonly root: string;
  readonly config: ProjectConfig;
  readonly plan: ReadPlan;
}

/** Reads `emend.yaml` and the documents of the plan, and checks them and the files with instructions. */
async function trustedFiles(
  ports: ActivityPorts,
  input: ReadPlanInput,
): Promise<TrustedFiles | UntrustedConfiguration> {
  const { configurationCommit: commit, planPath } = input;
  const root = await ports.workspace.root(input.workspace);
  if (input.reading === 1) await checkWorkspace(root);
  const files = commit === undefined ? await configurationFiles(root) : [];
  const config = valueOf(commit === undefined ? configIn(files) : await readConfigAt(root, commit));
  const plan = await readFiles(ports, root, planPath, config);
  const documents = documentsOf(plan, root);
  // Later, the marks of the run are in the documents.
  if (commit !== undefined && input.reading === 1) await refuseOtherPlan(root, commit, documents);
  const untrusted =
    commit === undefined
      ? await untrustedConfiguration(ports, root, [...files, ...documents], input.trusts)
      : null;
  return untrusted ?? { root, config, plan };
}

/** Returns the documents of a plan. The front matter of the first is that of the plan. */
const documentsOf = ({ tree, ...plan }: ReadPlan, root: string): readonly ConfigurationFile[] =>
  [...tree.files].map(([path, text]) => ({
    path: inWorkspace(plan, root, path),
    kind: 'plan',
    text,
    hash: contentHash(text),
  }));

/** A plan that the pull request itself changes is not yours yet. */
async function refuseOtherPlan(
  root: string,
  commit: string,
  documents: readonly ConfigurationFile[],
): Promise<void> {
  for (const { path, hash } of documents) {
    const file = await fileAtCommit(root, commit, path);
    if (file === null || contentHash(file.bytes) !== hash)
      fail(
        'config_untrusted',
        `${path} differs from the target branch (${commit.slice(0, 12)}). A run on a pull request follows only plans of the target branch.`,
        'Merge the plan first, or run it outside the pull request.',
      );
  }
}

/** Reads all that the run goes by. If the documents ask for what the run knows, it returns only what may differ. */
async function compute(
  ports: ActivityPorts,
  input: ReadPlanInput,
  trusted: TrustedFiles,
): Promise<ReadyPlan | SamePlan> {
  const { root, config, plan } = trusted;
  await refuseWithoutCommit(ports, input);
  const report = plans.reportOf(plan.tree, plan.thresholds, plan.show);
  refuseFaults(report.faults);
  await refuseUncommitted(plan, root, input);
  const approvers = await approversOf(ports, input.workspace, config);
  const checkpoint = await checkpointOfRun(ports, input.resume?.checkpoint);
  const read = readDocuments(plan, report, checkpoint?.phases ?? input.known, input.known);
  const level = plans.levelOf(plan.tree);
  if (input.hash === read.hash) return samePlan(read, level);
  const limits = resolveLimits(config, { limits: {} }, input.overrides);
  const test = await testsOfPlan(ports, input, trusted, {
    phases: report.phases,
    ids: read.ids,
  });
  const isTested =
    test.commands.length > 0 || test.found !== null || Object.keys(test.phases ?? {}).length > 0;
  const phases = await shownPhases(input, trusted, read, { limits, isTested });
  const asRead = {
    phases,
    hash: read.hash,
    limits,
    idsBy: (known: ReadPlanInput['known']) => idsOf(plan.tree.phases, known),
  };
  const resumePoint =
    input.resume === undefined ? null : await findResumePoint(ports, input, checkpoint, asRead);
  return {
    outcome: 'ready',
    title: await hideSecrets(report.title ?? plan.place.stem),
    hash: read.hash,
    ...(resumePoint === null ? {} : { resumePoint }),
    ...(await notesOf(plan)),
    level,
    phases,
    declared: report.declared,
    waves: wavesOf(report, read.ids),
    thresholds: plan.thresholds.values,
    lostMarks: LOST_MARKS,
    limits,
    approval: input.approval ?? config.approval,
    ...(approvers === null ? {} : { approvers }),
    ...(await commandsBesideTests(ports, input, trusted)),
    test,
    texts: await putJson(ports.blobs, read.texts),
    settings: await putJson(ports.blobs, settingsOf(input, trusted, limits)),
  };
}

/** Returns which of the plan's activities run commands of the project, so that they go to the queue of commands. */
async function commandsBesideTests(
  { repository }: ActivityPorts,
  input: ReadPlanInput,
  { config, plan }: TrustedFiles,
): Promise<Pick<ReadyPlan, 'runsHooks' | 'setsUp'>> {
  const settings = { ...config, ...plan.tree.main.settings };
  const runsHooks = settings.hooks && (await repository.hasHooks(input.workspace));
  const setsUp = settings.worktree?.setup !== undefined && input.repository === undefined;
  return { ...(runsHooks ? { runsHooks } : {}), ...(setsUp ? { setsUp } : {}) };
}

/** Each phase is committed, and needs a commit to build on. */
async function refuseWithoutCommit(
  { repository }: ActivityPorts,
  { workspace, planPath }: ReadPlanInput,
): Promise<void> {
  const found = await repository.head(workspace);
  if (found === null)
    fail(
      'not_a_repository',
      `${planPath}: each phase of a plan is committed, but ${workspace} is not a git repository.`,
    );
  else if (found.head === null)
    fail(
      'not_a_repository',
      `${workspace} has no commit yet; the phases of ${planPath} need one to build on.`,
    );
}

/** The phases as the documents have them, with what each asks for. */
interface ReadPhases {
  /** In the order of the phases. */
  readonly ids: readonly PhaseId[];
  readonly texts: PhaseTexts;
  readonly phases: readonly PhaseReading[];
  /** Of all that the phases ask for. */
  readonly hash: string;
}

/** `named`: phases whose ids stay. `known`: phases as the run knows them. */
function readDocuments(
  plan: ReadPlan,
  report: plans.PlanReport,
  named: ReadPlanInput['known'],
  known: ReadPlanInput['known'],
): ReadPhases {
  const ids = idsOf(plan.tree.phases, named);
  const texts = textsOf(plan, report.phases, ids);
  const before = plans.waitsFor(
    report.phases.map(({ number, dependencies }) => ({ number, on: dependencies })),
    (index) => ids[index] ?? '',
  );
  const staged = plans.chooseParts(plan.tree, 'expand', 'stage', plan.thresholds.values);
  const open = new Set(known.flatMap((phase) => (phase.open === true ? phase.id : [])));
  const phases = report.phases.map((phase, index) => {
    const id = ids[index] ?? '';
    const stages = staged.find(({ phase: number }) => number === phase.number)?.reason;
    const about = { id, dependsOn: before[index] ?? [], isOpen: open.has(id) };
    const reading = phaseReading(phase, about, texts);
    return stages === undefined ? reading : { ...reading, stages };
  });
  // A phase without a line of dependencies waits for all phases before it.
  const requests = phases.map(({ id, text, dependsOn }, index) => [
    id,
    text,
    report.phases[index]?.dependencies === null ? ids.slice(0, index) : dependsOn,
  ]);
  return { ids, texts, phases, hash: sha256(JSON.stringify(requests)).slice(0, 16) };
}

const samePlan = ({ hash, phases }: ReadPhases, level: ReadyPlan['level']): SamePlan => ({
  outcome: 'same',
  hash,
  level,
  phases: phases.map(({ id, number, marker, expanded, tasks }) => ({
    id,
    number,
    marker,
    expanded,
    tasks,
  })),
});

/** Returns the phases with their tasks, and in the first reading also with estimates: they are shown before anything is paid for. */
async function shownPhases(
  { reading }: ReadPlanInput,
  { plan, root, config }: TrustedFiles,
  { phases, texts }: ReadPhases,
  { limits, isTested }: { readonly limits: Limits; readonly isTested: boolean },
): Promise<readonly PhaseReading[]> {
  const listed = await Promise.all(phases.map((phase) => withTasks(phase, texts)));
  if (reading > 1) return listed;
  return estimated(plan, root, { config, limits, isTested }, { read: listed, texts });
}

function wavesOf(report: plans.PlanReport, ids: readonly PhaseId[]): ReadyPlan['waves'] {
  const idOf = new Map(report.phases.map(({ number }, index) => [number, ids[index] ?? '']));
  return report.waves.map(({ subWaves }) =>
    subWaves.map((wave) => wave.map((number) => idOf.get(number) ?? '')),
  );
}

/** Returns what calls of the plan itself go by. */
function settingsOf(
  input: ReadPlanInput,
  { config, plan }: TrustedFiles,
  limits: Limits,
): PlanSettings {
  const front = plan.tree.main.settings;
  const { requireCompleteSentinel } = input.overrides;
  const sentinel = requireCompleteSentinel === undefined ? {} : { requireCompleteSentinel };
  return {
    config: { ...config, ...front, ...sentinel },
    front,
    limits,
    ...configurationOf(input),
  };
}

/** They go into the history: none that holds a secret. */
async function notesOf({ tree }: ReadPlan): Promise<Pick<ReadyPlan, 'notes'>> {
  const notes: string[] = [];
  for (const { file, line, message } of tree.notes.slice(0, NOTES_SHOWN))
    if ((await findSecrets(message)).length === 0)
      notes.push(`${file}:${line}: ${short(message, NOTE_SHOWN_CHARS)}`);
  return notes.length === 0 ? {} : { notes };
}

/** With the texts of its tasks, which go into the history: none where one holds a secret. */
async function withTasks(phase: PhaseReading, texts: PhaseTexts): Promise<PhaseReading> {
  const tasks = texts.phases[phase.id]?.tasks.map(({ text }) => text) ?? [];
  if ((await findSecrets(tasks.join('\n'))).length > 0) return phase;
  const shown = tasks.slice(0, TASKS_SHOWN).map((text) => short(text, TASK_SHOWN_CHARS));
  return { ...phase, tasks: { ...phase.tasks, shown } };
}

async function estimated(
  plan: ReadPlan,
  workspace: string,
  {
    config,
    limits,
    isTested,
  }: { readonly config: ProjectConfig; readonly limits: Limits; readonly isTested: boolean },
  { read, texts }: { readonly read: readonly PhaseReading[]; readonly texts: PhaseTexts },
): Promise<readonly PhaseReading[]> {
  const own = new Set(pathsOfPlan(plan, workspace));
  const done: PhaseReading[] = [];
  const there: Record<PhaseId, readonly string[]> = {};
  for (const phase of read) {
    const { files: named = [], text = '' } = texts.phases[phase.id] ?? {};
    const files = await filesOf(workspace, named, text, own);
    const { category, second, score } = phase;
    const name = `Phase ${phase.number}: ${phase.name}`;
    const wanted = { name, files, text, category, second, score: score.score };
    const estimate = await estimatePhase(workspace, config, limits, wanted);
    const { replanLimit } = plan.thresholds.values;
    const most = isTested
      ? { most: mostOfPhase({ config, limits }, wanted, estimate, replanLimit) }
      : {};
    done.push({ ...phase, estimate, ...most });
    there[phase.id] = files.there;
  }
  const paths = new Set(
    (await dirtyPaths(workspace, Object.values(there).flat())).map(({ path }) => path),
  );
  return done.map((phase) => {
    const dirty = (there[phase.id] ?? []).filter((path) => paths.has(path));
    return dirty.length === 0 ? phase : { ...phase, dirty };
  });
}

/** The marks are committed: of a file that is in no commit nothing but the marks could not be. */
async function refuseUncommitted(
  plan: ReadPlan,
  root: string,
  { reading, planPath }: ReadPlanInput,
): Promise<void> {
  if (reading > 1) return;
  const dirty = await dirtyPaths(root, pathsOfPlan(plan, root));
  const strange = dirty.filter(({ state }) => state !== 'changed' && state !== 'staged');
  if (strange.length === 0) return;
  const named = strange.slice(0, 10).map(({ path, state }) => `${path} (${state})`);
  fail(
    'target_dirty',
    `${planPath}: the plan's progress is committed, but these of its files are not in a commit: ${named.join(', ')}.`,
    'Commit the plan first: git add, git commit.',
  );
}

/** Phases keep their ids by their names, those of one name by their numbers; one that is only renamed keeps it, others get the next. */
function idsOf(
  nodes: readonly plans.PartNode[],
  known: ReadPlanInput['known'],
): readonly PhaseId[] {
  const left = [...known];
  const take = (fits: (each: ReadPlanInput['known'][number]) => boolean): PhaseId | undefined => {
    const at = left.findIndex(fits);
    return at < 0 ? undefined : left.splice(at, 1)[0]?.id;
  };
  const headings = nodes.map(({ part }) => part.heading);
  const same = headings.map(({ name, number }) =>
    take((each) => each.name === name && each.number === number),
  );
  const named = headings.map(
    ({ name }, index) => same[index] ?? take((each) => each.name === name),
  );
  const isRenamed = (node: plans.PartNode) => (each: ReadPlanInput['known'][number]) =>
    each.number === node.part.heading.number &&
    each.text === hashOf(each.name, plans.fullText(node));
  let next = Math.max(0, ...known.map(({ id }) => Number(id.slice(1)))) + 1;
  return nodes.map((node, index) => named[index] ?? take(isRenamed(node)) ?? `p${next++}`);
}

/** Of what a phase asks for. `more`: what counts beside it. */
const hashOf = (name: string, text: string, more: readonly string[] = []): string =>
  sha256(canonicalJson([name, plans.untick(text), ...more])).slice(0, 16);

/** The first of them counts. */
const MARKERS: readonly PhaseMarker[] = ['skipped', 'incomplete', 'completed'];

const CATEGORIES: readonly (readonly [RegExp, PhaseCategory])[] = [
  [/\b(document|documentation|docs|readme|changelog)\b/i, 'documentation'],
  [/\b(debug|debugging|diagnose|investigate|troubleshoot)\b/i, 'debug'],
  [/\b(tests?|testing|coverage)\b/i, 'test'],
];

function phaseReading(
  phase: plans.PhaseReport,
  { id, dependsOn, isOpen }: Pick<PhaseReading, 'id' | 'dependsOn'> & { readonly isOpen: boolean },
  texts: PhaseTexts,
): PhaseReading {
  const { score, tasks } = phase;
  const marker =
    MARKERS.find((each) => phase.markers.some((written) => written.toLowerCase() === each)) ?? null;
  const closed = isOpen && marker !== null && marker !== 'incomplete' ? [marker] : [];
  return {
    id,
    number: phase.number,
    name: phase.name,
    expanded: phase.expanded,
    marker,
    dependsOn,
    tasks: { total: tasks.length, done: tasks.filter(({ done }) => done).length },
    score: {
      score: score.score,
      keywords: Object.fromEntries(
        score.keywords.flatMap(({ hits, weight }) =>
          Object.entries(hits).flatMap(([word, count]) =>
            count === 0 ? [] : [[word, count * weight]],
          ),
        ),
      ),
      tasks: score.tasks.value,
      files: score.files.value,
      tests: score.tests.value,
      above: score.above,
    },
    second: plans.wantsSecondScore(score.score, tasks.length),
    category: CATEGORIES.find(([words]) => words.test(phase.name))?.[1] ?? 'code',
    text: hashOf(phase.name, texts.phases[id]?.text ?? '', closed),
  };
}

const textsOf = (
  plan: ReadPlan,
  phases: readonly plans.PhaseReport[],
  ids: readonly PhaseId[],
): PhaseTexts => ({
  phases: Object.fromEntries(
    phases.map((phase, index): [PhaseId, PhaseText] => {
      const node = plan.tree.phases[index];
      const text = node === undefined ? '' : plans.fullText(node);
      const { objective, prerequisites, tasks } = phase;
      const plain = tasks.map(({ text: words, done, depth }) => ({ text: words, done, depth }));
      const stages =
        node !== undefined && plans.textOf(node).stages.length > 0
          ? ({ stages: true } as const)
          : {};
      // What a command tests is not what the phase edits, unless it is named elsewhere, too.
      const commands = plans.taskCommands(tasks.map(({ text: words }) => words));
      const rest = commands.reduce((left, command) => left.replaceAll(`\`${command}\``, ''), text);
      const isTested = (path: string) =>
        commands.some((command) => command.includes(path)) && !rest.includes(path);
      const files = phase.score.files.paths.filter((path) => !isTested(path));
      return [ids[index] ?? '', { objective, prerequisites, tasks: plain, text, files, ...stages }];
    }),
  ),
});

// The test commands of a plan, as they were found: which of them run, and which a person is asked about.

/** `phases` with their ids in the same order. */
export async function testsOfPlan(
  ports: ActivityPorts,
  { workspace, reading, planPath }: Pick<ReadPlanInput, 'workspace' | 'reading' | 'planPath'>,
  {
    plan,
    root,
    config,
  }: { plan: ReadPlan; root: string; config: Pick<ProjectConfig, 'test' | 'trustsTests'> },
  { phases, ids }: { phases: readonly plans.PhaseReport[]; ids: readonly PhaseId[] },
): Promise<PlanTests> {
  if (Array.isArray(config.test)) return { commands: config.test, found: null };
  // What a replan of this run wrote is committed by now: only the first reading looks at the base.
  const trusts = config.trustsTests === true && reading === 1;
  // Where they may have stood before an expansion, too.
  const own = [...new Set([`${planPath}.md`, ...pathsOfPlan(plan, root)])];
  let all: PlanTests = { commands: [], found: null, phases: {} };
  for (const { phase, ...found } of await discoverPlanTests(plan, root, phases)) {
    const paths = phase === null ? found.definedBy.map(({ path }) => path) : own;
    const tests = await foundTests(ports, workspace, found, { trusts, paths });
    if (phase !== null) {
      const id = ids[phases.findIndex(({ number }) => number === phase)] ?? '';
      all = { ...all, phases: { ...all.phases, [id]: tests } };
    } else
      all =
        found.commands.length === 0 ? { ...all, unset: true } : { ...all, ...testPlanOf(tests) };
  }
  return all;
}
