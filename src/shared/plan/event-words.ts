/** What a plan tells of itself, in a line each: for the terminal, the report and the page. Pure. */
import { shownKey } from '../refs.js';
import { count } from '../text.js';
import { usageText } from '../usage.js';
import { estimateText } from './budget.js';
import type { PlanEventBody } from './events.js';
import { ruleEventText } from './rule-words.js';

/** Where a phase's score comes from. */
const SCORED: Readonly<Record<string, string>> = {
  threshold: 'counted',
  agent: 'judged by a model',
  reconciled: 'counted and judged by a model',
};

export const planEventText = (event: PlanEventBody): string => {
  switch (event.type) {
    case 'plan_estimated':
      return `estimate for ${estimateText(event.phases, event, event.most ?? null, event.over)}`;
    case 'plan_started':
      return `plan of ${count(event.phases, 'phase')}, ${event.done} done, ${event.mode}: ${event.waves.map((wave) => wave.join(', ')).join(' | ')}`;
    case 'checkpoint_taken':
      return takenText(event);
    case 'phase_started':
      return `Phase ${event.phase}/${event.total}: ${event.name} (${count(event.tasks, 'task')})`;
    case 'complexity_checked':
      return `Phase ${event.phase}: complexity ${event.score} (${SCORED[event.method] ?? event.method}; threshold ${event.threshold}${event.expanded ? ', expanded' : ''})${event.above.length === 0 ? '' : `: ${event.above.join(', ')}`}`;
    case 'phase_editing':
      return `Phase ${event.phase}: editing (emend show ${shownKey(event.child)})`;
    case 'phase_fallback':
      return `Phase ${event.phase}: asked again in another way: ${event.to}`;
    case 'phase_tested':
      return `Phase ${event.phase}: ${event.outcome === 'no_tests' ? 'no tests were run' : `tests: ${event.outcome}`}`;
    case 'phase_committed':
      return `Phase ${event.phase}: committed ${event.commit.slice(0, 12)}`;
    case 'phase_merged':
      return `Phase ${event.phase}: ${event.commit === null ? 'was merged already' : `merged in ${event.commit.slice(0, 12)}`}`;
    case 'merged_tested':
      return `tests of the merged phases: ${event.outcome}${event.summary === '' ? '' : `: ${event.summary}`}`;
    case 'worktree_removed':
      return `worktree ${event.name} removed${event.dropped === null ? '' : `; its last commit was ${event.dropped.slice(0, 12)}${event.kept === undefined ? '' : `, kept as ${event.kept}`}`}`;
    case 'phase_failed':
      return `Phase ${event.phase}: tests failed (${event.kind ?? 'unknown'}, ${event.consecutive} in a row): ${event.summary}`;
    case 'phase_left':
      return `Phase ${event.phase}: ${event.as}: ${event.why}`;
    case 'phase_marked':
      return `Phase ${event.phase}: marked [${event.marker.toUpperCase()}]${event.commit === null ? '' : ` in ${event.commit.slice(0, 12)}`}${event.why === null ? '' : `: ${event.why}`}`;
    case 'checkpoint_saved':
      return `checkpoint ${event.number} saved`;
    case 'markers_checked':
      return event.lost.length === 0
        ? 'every phase that is done is marked'
        : `marks lost and written again: Phase ${event.lost.join(', ')}`;
    case 'plan_paused':
      return `paused after this phase by ${event.by}`;
    case 'plan_resumed':
      return `goes on, by ${event.by}`;
    case 'plan_stop_wanted':
      return `stops after this phase, by ${event.by}`;
    case 'plan_finished':
      return `plan finished: ${event.outcome}`;
    default:
      return ruleEventText(event);
  }
};

const takenText = ({
  run,
  landed,
  failures,
  replans,
  spent,
}: Extract<PlanEventBody, { type: 'checkpoint_taken' }>): string =>
  [
    run === null ? 'goes on from what was committed' : `goes on from the checkpoint of ${run}`,
    ...(landed.length === 0 ? [] : [`Phase ${landed.join(', ')} committed, to be marked`]),
    ...(failures === 0 ? [] : [count(failures, 'failure')]),
    ...(replans === 0 ? [] : [count(replans, 'replan')]),
    ...(spent === undefined ? [] : [`used of the budgets: ${usageText(spent)}`]),
  ].join('; ');
