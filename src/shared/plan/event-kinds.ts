/** The four questions that are asked of a plan's events: `emend events --kind`. Pure. */
import type { StepEvent } from '../events.js';

export const EVENT_KINDS = ['complexity', 'replan', 'loop', 'failures'] as const;
export type EventKind = (typeof EVENT_KINDS)[number];

const TYPES: Readonly<Record<EventKind, readonly StepEvent['type'][]>> = {
  complexity: ['complexity_checked', 'second_score', 'score_discrepancy'],
  replan: ['scope_drift', 'replan_triggered', 'replanned', 'replan_failed'],
  loop: ['loop_stopped'],
  failures: ['phase_failed', 'debug_report'],
};

/** Which trigger was judged says whether the judgement belongs to complexity or to replans. A job's failed tests count as failures. */
export function isOfKind(event: StepEvent, kind: EventKind): boolean {
  if (event.type === 'trigger_checked') return kind === (event.trigger === 'complexity' ? 'complexity' : 'replan');
  if (event.type === 'verified') return kind === 'failures' && event.outcome.startsWith('fail');
  return TYPES[kind].includes(event.type);
}
