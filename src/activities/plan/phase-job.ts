/** Makes a phase's job: what the phase asks for, as the Markdown job of an edit step. Recorded under (stepKey, phase, run). */
import { readFiles } from './read-files.js';
import { getJson } from '../../stores/ports.js';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { resolveLimits } from '../../documents/job/index.js';
import { FORMATS, type Format } from '../../shared/formats.js';
import type {
  PhaseJobInput,
  PhaseJobResult,
  PhaseText,
  PhaseTexts,
} from '../../shared/plan-activities.js';
import { getText, putText } from '../step/snapshot.js';
import { editsOf, type PhaseToEstimate, EFFORT_TEXTS, effortOf, levelOf } from './estimate.js';
import { MODEL_BOUNDS } from '../../shared/bounds.js';
import { checkFilePath } from '../../documents/source/checked-paths.js';
import { pathsOfPlan } from '../../workspace/documents/index.js';
import { readConfigAt } from '../../workspace/trust/index.js';
import { bounded, fenced, UNFINISHED_ASKED } from '../../model/prompts/index.js';
import type { PhaseCategory } from '../../shared/plan.js';
import { isRefusal, ProblemError } from '../../shared/problems.js';
import { phaseText } from '../../shared/event-text.js';
import { phaseKey } from '../../shared/ids.js';
import type { Activity } from '../frame/activity.js';
import type { ActivityPorts } from '../frame/ports.js';
import { recordOnce } from '../frame/recorded.js';
import { isoTime } from '../../system/clock.js';
import { readRefusal } from '../step/refusals.js';
import { remember } from '../step/found-tests.js';
import type { PlanSettings } from './plan-call.js';

// After a failed attempt a phase is asked for in another way: by the model that `emend.yaml` names for that (`plan: { fallbackModel }`), else
// in another format. A file that is too long for a whole answer is never asked for as one. Null: there is no other way.

type Fallback = Readonly<{ key: 'model'; value: string } | { key: 'format'; value: Format }>;

export async function fallbackOf(
  workspace: string,
  { overrides, phase, score }: Pick<PhaseJobInput, 'overrides' | 'phase' | 'score'>,
  files: PhaseToEstimate['files'],
  configurationCommit?: string,
): Promise<Fallback | null> {
  const config = await readConfigAt(workspace, configurationCommit);
  // Its own run refuses a configuration that cannot be read, and says why.
  if (!config.ok) return null;
  const limits = resolveLimits(config.value, { limits: {} }, overrides);
  const edits = await editsOf(workspace, config.value, limits, {
    files,
    category: phase.category,
    score,
  });
  const other = config.value.plan?.fallbackModel;
  if (other !== undefined && other !== edits.model) return { key: 'model', value: other };
  // A new file has one sensible format; of files that a model picks nothing is known.
  const largest = edits.files.filter(({ isNew }) => !isNew).sort((a, b) => b.bytes - a.bytes)[0];
  if (!edits.named || largest === undefined) return null;
  const start = FORMATS.indexOf(largest.format);
  const used = new Set(edits.files.map(({ format }) => format));
  const next = [...FORMATS.slice(start), ...FORMATS.slice(0, start)].find(
    (format) =>
      edits.on[format] &&
      !used.has(format) &&
      (format !== 'whole-file' || edits.files.every(({ bucket }) => bucket === 'A')),
  );
  return next === undefined ? null : { key: 'format', value: next };
}

export const writePhaseJob: Activity<'writePhaseJob'> = async (ports, input, { owner }) => {
  await remember(ports, input.stepKey, input.rememberTest ?? []);
  const key = `steps/${input.stepKey}/job-${input.phase.id}-${input.run}`;
  const result = await recordOnce(ports.records, key, () => make(ports, input));
  if (result.outcome === 'ready') await noteStart(ports, input, result, owner.namespace);
  return result;
};

/** As the client does for a run that it starts: the child is found, listed and told of by its archive. */
async function noteStart(
  { archive, clock }: ActivityPorts,
  input: PhaseJobInput,
  { title, path: jobPath }: { readonly title: string; readonly path: string },
  namespace: string,
): Promise<void> {
  const data = { workflowId: input.child, runId: '', namespace, address: '', queues: input.queues };
  const at = isoTime(clock);
  const started = { ...data, workspace: input.workspace, jobPath, title };
  const child = phaseKey(input.stepKey, input.phase.id, input.run);
  await archive.append(child, [{ id: 'started', at, kind: 'started', data: started }]);
}

async function make(ports: ActivityPorts, input: PhaseJobInput): Promise<PhaseJobResult> {
  const { blobs } = ports;
  const { phase, planPath, report, failure } = input;
  const texts = await getJson<PhaseTexts>(blobs, input.texts, 'phase texts');
  const phaseWords = texts.phases[phase.id];
  if (phaseWords === undefined) throw new Error(`the reading has no phase ${phase.id}`);
  const root = await ports.workspace.root(input.workspace);
  const own = new Set(await ownPaths(ports, root, planPath));
  const files = await filesOf(root, phaseWords.files, phaseWords.text, own);
  // As the plan was read: nothing that a model wrote since counts.
  const settings = await getJson<Partial<PlanSettings>>(blobs, input.settings, 'settings');
  const fallback =
    failure === null ? null : await fallbackOf(root, input, files, settings.configurationCommit);
  const title = `Phase ${phase.number}: ${phase.name}`;
  const keys = jobKeys(input, { title, files, settings, fallback });
  const body = jobBody(input, {
    title,
    phaseWords,
    failure: failure === null ? null : await failureText(ports, failure),
    report: report === null ? null : await getText(blobs, report),
  });
  const job = await putText(blobs, `${keys.join('\n')}\n${body.join('\n\n')}\n`);
  return {
    outcome: 'ready',
    job,
    path: `${planPath}-phase-${phase.number}.md`,
    title,
    ...(fallback === null ? {} : { fallback: `${fallback.key} ${fallback.value}` }),
  };
}

/** Returns the documents of the plan, which are no targets of its phases. A broken plan has none; one that cannot be read at this moment is read by the next attempt. */
async function ownPaths(
  ports: ActivityPorts,
  root: string,
  planPath: string,
): Promise<readonly string[]> {
  try {
    return pathsOfPlan(await readFiles(ports, root, planPath), root);
  } catch (error) {
    if (error instanceof ProblemError && isRefusal(error.problem)) return [];
    throw error;
  }
}

/** Returns the lines of the job's front matter. */
function jobKeys(
  { phase, score, commands, ...input }: PhaseJobInput,
  {
    title,
    files,
    settings: { front, config },
    fallback,
  }: {
    readonly title: string;
    readonly files: Awaited<ReturnType<typeof filesOf>>;
    readonly settings: Partial<PlanSettings>;
    readonly fallback: Awaited<ReturnType<typeof fallbackOf>>;
  },
): readonly string[] {
  const set = { create: config?.create ?? true, ...front };
  const effort = effortOf(score);
  const level = levelOf(score);
  return [
    '---',
    ...(files.there.length === 0 ? [] : [`target_files: ${JSON.stringify(files.there)}`]),
    ...(files.fresh.length === 0 ? [] : [`new_files: ${JSON.stringify(files.fresh)}`]),
    ...(files.gone.length === 0 ? [] : [`delete_files: ${JSON.stringify(files.gone)}`]),
    ...(fallback === null ? [] : [`${fallback.key}: ${JSON.stringify(fallback.value)}`]),
    ...(phase.category === 'code' ? [] : [`category: ${phase.category}`]),
    ...(level === 'low' ? [] : [`complexity: ${level}`]),
    ...(effort === null ? [] : [`effort: ${effort}`]),
    ...Object.entries(set).map(([key, value]) => `${key}: ${JSON.stringify(value)}`),
    `test: ${commands.length === 0 ? 'false' : JSON.stringify(commands)}`,
    `commit: ${JSON.stringify(commitMessage(title, { phase, score, commands, ...input }))}`,
    '---',
  ];
}

/** Returns the paragraphs of the job's instructions. */
function jobBody(
  { phase, score, note }: PhaseJobInput,
  {
    title,
    phaseWords: { objective, prerequisites, tasks, text },
    failure,
    report,
  }: {
    readonly title: string;
    readonly phaseWords: PhaseText;
    readonly failure: string | null;
    readonly report: string | null;
  },
): readonly string[] {
  const effort = effortOf(score);
  return [
    `# ${title}`,
    ...(objective === null ? [] : [`**Objective**: ${objective}`]),
    [PROMPTS[phase.category], effort === null ? '' : EFFORT_TEXTS[effort]]
      .filter((words) => words !== '')
      .join(' '),
    ...(prerequisites.length === 0
      ? []
      : [`Prerequisites, which are met: ${prerequisites.join('; ')}`]),
    ...(tasks.length === 0
      ? []
      : [`## Tasks\n\n${tasks.map(taskLine).join('\n')}\n\n${UNFINISHED_ASKED}`]),
    `## The phase as the plan has it\n\n${text === '' ? title : text}`,
    ...(note === null ? [] : [`## A person's note\n\n${note}`]),
    ...(failure === null
      ? []
      : [`## The last attempt failed its tests and was taken back\n\n${failure}`]),
    ...(report === null ? [] : [`## Debugging report\n\n${report}`]),
  ];
}

const PROMPTS: Record<PhaseCategory, string> = {
  code: 'Carry out this phase of a plan, and nothing of the phases around it.',
  documentation:
    'Carry out this phase of a plan: it is about documentation. Say what the code does as it is, for the reader that the text is for; change no code.',
  test: 'Carry out this phase of a plan: it is about tests. Write tests that fail where the behaviour is wrong; change no code beside them unless a task says so.',
  debug:
    'Carry out this phase of a plan: it is about finding and mending a fault. Mend the cause, not the sign of it, and change no more than that needs.',
};

/** Numbered through, as the model names them. */
const taskLine = ({ text, done, depth }: PhaseText['tasks'][number], index: number): string =>
  `${'   '.repeat(depth)}${index + 1}. [${done ? 'x' : ' '}] ${text}`;

const commitMessage = (
  title: string,
  { planPath, phase, place, total, commands }: PhaseJobInput,
): string =>
  [
    title,
    '',
    `Plan ${planPath}, ${phaseText(phase.number, place, total, ' of ').toLowerCase()}.`,
    ...(commands.length === 0
      ? ['No tests were run: none are configured, found or requested.']
      : []),
  ].join('\n');

async function failureText(
  { blobs }: ActivityPorts,
  { summary, output }: NonNullable<PhaseJobInput['failure']>,
): Promise<string> {
  const failed =
    output === null
      ? null
      : await readRefusal(blobs, output, { reasons_bytes: MODEL_BOUNDS.phaseFailure_bytes }).catch(
          () => null,
        );
  if (failed === null) return summary;
  const [edit, said] = [failed.answer, failed.reasons].map((text) =>
    fenced(bounded(text, MODEL_BOUNDS.phaseFailure_bytes)),
  );
  return `The failed edit:\n\n${edit}\n\nWhat the tests said:\n\n${said}`;
}
const SOURCE_EXTENSION =
  /\.(c|cc|cpp|cs|css|csv|ex|go|h|hpp|html|java|js|json|jsx|kt|lua|cjs|mjs|md|php|py|rb|rs|scss|sh|sql|svelte|swift|toml|ts|tsx|txt|vue|xml|ya?ml)$/;
/** An extension that sources have. */
export const isSource = (path: string): boolean => SOURCE_EXTENSION.test(path);
/** Said of nothing but a file, right before its path: "Remove `b` from `a.js`" takes no file away. */
const DELETES =
  /\b(?:delete|remove)s?\s+(?:the\s+)?files?\s+((?:`[^`]+`(?:\s*,\s*|\s+and\s+|\s*,\s*and\s+)?)+)/gi;
const deletedIn = (text: string): ReadonlySet<string> =>
  new Set(
    [...text.matchAll(DELETES)].flatMap(([, paths = '']) =>
      [...paths.matchAll(/`([^`]+)`/g)].map(([, path = '']) => path),
    ),
  );
const CREATES = /\b(add|create|write|new|introduce|implement|scaffold)\b/i;

/**
 * Files that the phase names: those that are there are edited. One that is not is made where it has a folder or a line that speaks of
 * making it, and an extension that sources have; one that a line calls a file to delete goes; anything else is only talked about.
 */
export async function filesOf(
  workspace: string,
  named: readonly string[],
  text: string,
  own: ReadonlySet<string>,
): Promise<Record<'there' | 'fresh' | 'gone', readonly string[]>> {
  const there: string[] = [];
  const fresh: string[] = [];
  const gone: string[] = [];
  const goes = deletedIn(text);
  for (const path of named) {
    const checked = checkFilePath(path);
    if (!checked.ok || own.has(checked.path)) continue;
    const found = await stat(join(workspace, checked.path)).catch(() => null);
    if (found?.isFile() === true) (goes.has(path) ? gone : there).push(checked.path);
    const wanted = text.split('\n').some((line) => line.includes(path) && CREATES.test(line));
    if (found === null && isSource(path) && wanted) fresh.push(checked.path);
  }
  return { there: [...new Set(there)], fresh: [...new Set(fresh)], gone: [...new Set(gone)] };
}
