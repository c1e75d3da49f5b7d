/**
 * A replan as a model proposes it: data, checked before anything is done with it. Texts become single lines of a plan, so nothing in
 * them may be read as structure: no line ends, fences, comments, headings or markers.
 */
import { z } from 'zod';
import type { ReplanAction } from '../../shared/plan.js';

const REPLAN_NAME_CHARS = 120; // bound: Of a model's replan: the name of a phase,
const REPLAN_TASK_CHARS = 500; // bound: a task,
const REPLAN_TASKS = 30; // bound: tasks of a phase,
const REPLAN_PARTS = 6; // bound: parts of a split,
const REPLAN_WHY_CHARS = 1_000; // bound: the reason.

/** Control and direction characters, and what Markdown reads as more than a line of text. */
const UNSAFE = /[\p{Cc}\p{Cf}\u2028\u2029]|```|~~~|<!--|-->/u;
const line = (what: string, max: number) =>
  z
    .string({ error: what })
    .transform((text) => text.trim())
    .refine((text) => text !== '' && text.length <= max && !UNSAFE.test(text), {
      error: `${what}: one line of at most ${max} characters without fences and comments`,
    });
const name = line('a name', REPLAN_NAME_CHARS).refine((text) => !/\[[A-Z]+\]$|^#|#$/.test(text), {
  error: 'a name without markers and number signs',
});
const task = line('a task', REPLAN_TASK_CHARS).transform((text) =>
  text.replace(/^(?:[-*+]\s+)?\[[ xX]\]\s*/, ''),
);
const tasks = z.array(task, { error: 'a list of tasks' }).min(1).max(REPLAN_TASKS);
const number = (what: string) => z.number({ error: what }).int().min(0).max(9_999);
const taskNumber = number('the number of a task').min(1);
const objective = line('an objective', REPLAN_TASK_CHARS);
const why = z
  .string({ error: 'a text' })
  .transform((text) => text.replace(/\s+/gu, ' ').trim().slice(0, REPLAN_WHY_CHARS));

const base = { phase: number('the number of a phase'), why };
export const replanSchema = z.discriminatedUnion(
  'action',
  [
    z.object({ action: z.literal('expand_phase'), ...base }),
    z.object({ action: z.literal('collapse_phase'), ...base }),
    /** A new phase, done before `phase`; after it where that is done. */
    z.object({ action: z.literal('add_phase'), ...base, name, objective, tasks }),
    /** The named tasks of `phase` go to new phases after it; the others stay. */
    z.object({
      action: z.literal('split_phase'),
      ...base,
      parts: z
        .array(z.object({ name, objective, tasks: z.array(taskNumber).min(1).max(REPLAN_TASKS) }))
        .min(1)
        .max(REPLAN_PARTS),
    }),
    z.object({
      action: z.literal('update_tasks'),
      ...base,
      add: z.array(task).max(REPLAN_TASKS).default([]),
      change: z
        .array(z.object({ task: taskNumber, text: task }))
        .max(REPLAN_TASKS)
        .default([]),
      remove: z.array(taskNumber).max(REPLAN_TASKS).default([]),
    }),
  ],
  { error: 'one of expand_phase, collapse_phase, add_phase, split_phase, update_tasks' },
);
export type Replan = z.infer<typeof replanSchema>;

/** `value`: parsed JSON of an answer. `actions` and `phases`: what was asked for. */
export function checkReplan(
  value: unknown,
  actions: readonly ReplanAction[],
  phases: readonly number[],
): Readonly<{ ok: true; replan: Replan } | { ok: false; why: string }> {
  const checked = replanSchema.safeParse(value);
  if (!checked.success) {
    const [issue] = checked.error.issues;
    const where = issue?.path.join('.') ?? '';
    return {
      ok: false,
      why: `${where === '' ? 'the answer' : where}: expected ${issue?.message ?? 'a replan'}`,
    };
  }
  const { data } = checked;
  if (!actions.includes(data.action))
    return { ok: false, why: `expected one of ${actions.join(', ')}, received ${data.action}` };
  if (!phases.includes(data.phase))
    return { ok: false, why: `expected phase ${phases.join(' or ')}, received ${data.phase}` };
  return { ok: true, replan: data };
}
