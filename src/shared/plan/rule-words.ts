/** Scores, triggers, replans and loop stops of a plan, in a line each. Pure. */
import type { PlanEventBody } from './events.js';

export type RuleEvent = Extract<
  PlanEventBody,
  {
    type:
      | 'second_score'
      | 'score_discrepancy'
      | 'trigger_checked'
      | 'replan_triggered'
      | 'replanned'
      | 'replan_failed'
      | 'loop_stopped'
      | 'debug_report'
      | 'scope_drift';
  }
>;

export const ruleEventText = (event: RuleEvent): string => {
  const { type } = event;
  switch (type) {
    case 'second_score':
      return `Phase ${event.phase}: second score: ${event.message === null ? `${event.score} (${event.method})` : `none, ${event.message}`}`;
    case 'score_discrepancy':
      return `Phase ${event.phase}: scores differ: ${event.threshold} and ${event.agent}: ${event.reasoning}`;
    case 'trigger_checked':
      return `Phase ${event.phase}: ${event.trigger}: ${event.tier ?? event.outcome}: ${event.why}`;
    case 'replan_triggered':
      return `Phase ${event.phase}: replan because of ${event.trigger} (${event.replans}/${event.limit}, ${event.status})`;
    case 'replanned':
      return (
        `Phase ${event.phase}: ${event.action}: ${event.oldStructure} -> ${event.newStructure}, ` +
        `complexity ${event.complexityBefore} -> ${event.complexityAfter}${event.forced ? ', forced' : ''}`
      );
    case 'replan_failed':
      return `Phase ${event.phase}: no replan: ${event.why}`;
    case 'loop_stopped':
      return `Phase ${event.phase}: replans stopped at ${event.replans}/${event.limit}: ${event.why}`;
    case 'debug_report':
      return `Phase ${event.phase}: ${event.path === null ? `no debugging report: ${event.message ?? ''}` : `debugging report at ${event.path}`}`;
    case 'scope_drift':
      return `out of scope, says ${event.by}: ${event.text}`;
  }
};
