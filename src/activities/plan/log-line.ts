/** Events of plans as lines of the plan log, which grep and log readers take apart: `[2026-01-02 03:04:05] KIND: name=value ...`. Pure. */
import type { StepEvent } from '../../shared/events.js';

export type LogFields = Readonly<Record<string, string | number | boolean | null>>;
export interface LogLine {
  readonly kind: string;
  readonly fields: LogFields;
}

/** Null: the event is no line of this log. */
export function planLine(event: StepEvent): LogLine | null {
  const line = (kind: string, fields: LogFields): LogLine => ({ kind, fields });
  switch (event.type) {
    case 'complexity_checked': {
      const { phase, score, threshold, method, above, expanded } = event;
      const recommendation = above.length > 0 && !expanded ? 'expand' : 'keep';
      return line('COMPLEXITY_CHECK', {
        phase,
        score,
        threshold,
        agent_invoked: method !== 'threshold',
        recommendation,
      });
    }
    case 'score_discrepancy':
      return line('COMPLEXITY_DISCREPANCY', {
        phase: event.phase,
        threshold_score: event.threshold,
        agent_score: event.agent,
      });
    case 'replan_triggered': {
      const { phase, trigger, replans, limit, status } = event;
      return line('REPLAN_TRIGGER', { phase, trigger, replan_count: `${replans}/${limit}`, status });
    }
    case 'replanned': {
      const { phase, action, oldStructure, newStructure } = event;
      return line('REPLAN_SUCCESS', { phase, action, old_structure: oldStructure, new_structure: newStructure });
    }
    case 'replan_failed':
      return line('REPLAN_FAILURE', { phase: event.phase, trigger: event.trigger, reason: event.why });
    case 'phase_failed': {
      const { phase, run, kind, consecutive } = event;
      return line('TEST_FAILURE', {
        phase,
        iteration: run,
        error_type: kind ?? 'unknown',
        consecutive_failures: consecutive,
      });
    }
    case 'loop_stopped': {
      const { phase, replans, limit, why } = event;
      const forced = why.startsWith('forced');
      const what = forced
        ? { status: 'forced_override', action: 'replan' }
        : { status: 'limit_reached', action: 'escalate' };
      return line('LOOP_PREVENTION', { phase, replan_count: `${replans}/${limit}`, ...what });
    }
    case 'scope_drift':
      return line('SCOPE_DRIFT', { by: event.by, description: event.text });
    default:
      return null;
  }
}

/** Values with blanks stand in quotes; nothing in them ends the line. */
export function textOfLine(at: number, { kind, fields }: LogLine): string {
  const time = new Date(at).toISOString().slice(0, 19).replace('T', ' ');
  const shown = Object.entries(fields).map(([name, value]) => {
    const text = String(value).replace(/\p{Cc}/gu, ' ');
    return `${name}=${/[\s"=]/.test(text) ? JSON.stringify(text) : text}`;
  });
  return `[${time}] ${kind}: ${shown.join(' ')}\n`;
}
