/** The three calls that a plan makes for itself: a second score of a phase, a report on failing tests, a replan. */
import { bounded, fenced, type BuiltRequest } from './blocks.js';
import { buildJsonRequest, type JsonPrompt } from './json-answer.js';
import { MODEL_BOUNDS } from '../../shared/bounds.js';

type Common = Pick<JsonPrompt, 'model' | 'outputBudget_tokens' | 'refusal'>;
interface PhaseShown {
  readonly number: number;
  readonly name: string;
  /** Its Markdown. */
  readonly text: string;
}

const phasePart = ({ number, name, text }: PhaseShown): readonly [string, string] => [
  'The phase',
  fenced(bounded(`Phase ${number}: ${name}\n\n${text}`, MODEL_BOUNDS.phaseText_bytes)),
];

const SCORE_SYSTEM = `You judge how complex one phase of an implementation plan is, from its text alone.
- Answer with {"score", "interdependence", "breadth", "risk", "parallel_work", "clarity", "reasoning", "recommendation"}.
- "score" is a number from 0 to 15: under 5 is a routine change, 8 is where a phase deserves a document of its own, above 10 it should be several phases.
- "interdependence": are its tasks tightly coupled? "breadth": one module or many? "risk": proven patterns or new ones? "parallel_work": could tasks be done at the same time? "clarity": would more detail help? Each a number from 0 to 10.
- "reasoning": one or two sentences. "recommendation": "expand" or "keep".`;

/** The phase alone: no plan, no files. */
export const buildScoreRequest = (input: Common & { readonly phase: PhaseShown }): BuiltRequest =>
  buildJsonRequest({ ...input, system: SCORE_SYSTEM, parts: [phasePart(input.phase)] });

export interface FailureShown {
  readonly run: number;
  readonly kind: string;
  readonly summary: string;
  readonly output: string;
}

const DEBUG_SYSTEM = `You find out why the tests of a change fail. The change was made twice by somebody who worked from the phase below; both times the tests failed, in different ways, and it was rolled back.
- Answer with {"cause", "evidence", "fix", "files"}.
- "cause": the root cause, in a few sentences. "evidence": a list of lines of the output that show it. "fix": a list of steps for the next attempt. "files": a list of paths that matter.
- Suggest no commands that change the machine, no change of tests that only hides a failure, and nothing outside the phase.`;

export const buildDebugRequest = (
  input: Common & { readonly phase: PhaseShown; readonly failures: readonly FailureShown[] },
): BuiltRequest =>
  buildJsonRequest({
    ...input,
    system: DEBUG_SYSTEM,
    parts: [
      phasePart(input.phase),
      ...input.failures.map(({ run, kind, summary, output }): readonly [string, string] => [
        `Attempt ${run}: ${kind}`,
        fenced(bounded(`${summary}\n\n${output}`, MODEL_BOUNDS.phaseOutput_bytes)),
      ]),
    ],
  });

/** What a replan is asked about, as JSON in the prompt. */
export interface RevisionContext {
  readonly trigger: string;
  readonly phase: number;
  readonly complexity_score: number;
  readonly task_count: number;
  readonly test_failures: number;
  readonly user_description: string;
}

const FORMS: Readonly<Record<string, string>> = {
  expand_phase: '{"action": "expand_phase", "phase": N, "why"}: its text is moved to a document of its own.',
  collapse_phase: '{"action": "collapse_phase", "phase": N, "why"}: its document becomes part of the plan again.',
  add_phase:
    '{"action": "add_phase", "phase": N, "why", "name", "objective", "tasks": ["..."]}: a new phase that is done before phase N, for what phase N needs and does not have.',
  split_phase:
    '{"action": "split_phase", "phase": N, "why", "parts": [{"name", "objective", "tasks": [task numbers of phase N]}]}: the named tasks go to new phases after N; at least one stays.',
  update_tasks:
    '{"action": "update_tasks", "phase": N, "why", "add": ["..."], "change": [{"task": number, "text"}], "remove": [numbers]}: other tasks for phase N.',
};

const replanSystem = (actions: readonly string[], phase: number): string =>
  `You revise an implementation plan while it is carried out. Something happened in phase ${phase} (N = ${phase}); answer with one of these objects:
${actions.map((action) => `- ${FORMS[action] ?? action}`).join('\n')}
- "why": one sentence. Names, objectives and tasks are single lines of plain text without markers, headings and code fences.
- Change as little as resolves what happened. Phases that are done are not changed. Ask for nothing that needs a person or another machine.`;

export const buildReplanRequest = (
  input: Common & {
    readonly phase: PhaseShown;
    readonly context: RevisionContext;
    readonly actions: readonly string[];
    readonly tasks: readonly { readonly text: string; readonly done: boolean }[];
    /** One line a phase. */
    readonly outline: readonly string[];
    readonly failures: readonly FailureShown[];
    readonly report: string;
  },
): BuiltRequest => {
  const tasks = input.tasks.map(({ text, done }, index) => `${index + 1}. [${done ? 'x' : ' '}] ${text}`).join('\n');
  return buildJsonRequest({
    ...input,
    system: replanSystem(input.actions, input.context.phase),
    parts: [
      ['What happened', fenced(JSON.stringify(input.context, null, 2))],
      ['All phases', fenced(bounded(input.outline.join('\n'), MODEL_BOUNDS.phaseText_bytes))],
      phasePart(input.phase),
      ['Tasks of the phase, by number', tasks === '' ? '' : fenced(bounded(tasks, MODEL_BOUNDS.phaseText_bytes))],
      ...input.failures.map(({ run, kind, summary, output }): readonly [string, string] => [
        `Failed attempt ${run}: ${kind}`,
        fenced(bounded(`${summary}\n\n${output}`, MODEL_BOUNDS.phaseOutput_bytes)),
      ]),
      [
        'Report on the failures',
        input.report === '' ? '' : fenced(bounded(input.report, MODEL_BOUNDS.phaseOutput_bytes)),
      ],
    ],
  });
};
