/**
 * Checks a replan that a model proposes. Its texts become single lines of a plan, so they may not contain structure: line ends, fences, comments,
 * headings or markers.
 */
import { z } from 'zod';
import type { ReplanAction } from '../../shared/plan.js';

const REPLAN_NAME_CHARS = 120; // bound: Characters of the name of a phase in a replan.
const REPLAN_TASK_CHARS = 500; // bound: Characters of a task or an objective in a replan.
const REPLAN_TASKS = 30; // bound: Tasks of a phase in a replan.
const REPLAN_PARTS = 6; // bound: New phases into which a replan splits a phase.
const REPLAN_REASON_CHARS = 1_000; // bound: Characters of the reason of a replan.

/** Control and direction characters, and signs that start a fence or a comment in Markdown. */
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
const reason = z
  .string({ error: 'a text' })
  .transform((text) => text.replace(/\s+/gu, ' ').trim().slice(0, REPLAN_REASON_CHARS));

const base = { phase: number('the number of a phase'), why: reason };
export const replanSchema = z.discriminatedUnion(
  'action',
  [
    z.object({ action: z.literal('expand_phase'), ...base }),
    z.object({ action: z.literal('collapse_phase'), ...base }),
    /** Adds a new phase before `phase`, or after it if it is already done. */
    z.object({ action: z.literal('add_phase'), ...base, name, objective, tasks }),
    /** Moves the listed tasks of `phase` to new phases after it. The others stay. */
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

/** Checks the parsed JSON of a response. `actions` and `phases` are those that the request allows. */
export function checkReplan(
  value: unknown,
  actions: readonly ReplanAction[],
  phases: readonly number[],
): Readonly<{ ok: true; replan: Replan } | { ok: false; reason: string }> {
  const checked = replanSchema.safeParse(value);
  if (!checked.success) {
    const [issue] = checked.error.issues;
    const place = issue?.path.join('.') ?? '';
    return {
      ok: false,
      reason: `${place === '' ? 'the answer' : place}: expected ${issue?.message ?? 'a replan'}`,
    };
  }
  const { data } = checked;
  if (!actions.includes(data.action))
    return { ok: false, reason: `expected one of ${actions.join(', ')}, received ${data.action}` };
  if (!phases.includes(data.phase))
    return { ok: false, reason: `expected phase ${phases.join(' or ')}, received ${data.phase}` };
  return { ok: true, replan: data };
}
