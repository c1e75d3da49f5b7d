/** A plan's run: its phases in a table. Pure. */
import type { PlanProgress } from '../../shared/plan.js';
import { SHOWN_BOUNDS } from '../../shared/bounds.js';
import type { PhaseWaiting } from '../../client/phases-waiting.js';
import { shownKey } from '../../shared/refs.js';
import { count, line, plain, table } from './text.js';

export const planLines = (
  { phases, pausedBy, stopAfterPhase }: PlanProgress,
  width: number,
  waiting: readonly PhaseWaiting[] = [],
): readonly string[] => {
  const rows = phases
    .slice(0, SHOWN_BOUNDS.phaseRows)
    .map((phase) => [
      `  ${phase.number}`,
      line(phase.name, 40),
      ...standing(phase, waiting.find(({ run }) => run === phase.run)?.reason),
      count(phase.tasks, 'task'),
      `score ${phase.score}`,
      phase.commit === null ? '' : phase.commit.slice(0, 12),
      plain(phase.why ?? ''),
    ]);
  return [
    ...table(rows).map((text) => line(text, width)),
    ...(phases.length > SHOWN_BOUNDS.phaseRows ? [`  and ${phases.length - SHOWN_BOUNDS.phaseRows} more`] : []),
    ...(pausedBy === null ? [] : [`  paused by ${plain(pausedBy)}: emend plan resume PLAN`]),
    ...(stopAfterPhase === null ? [] : [`  stops after this phase (${plain(stopAfterPhase)})`]),
  ];
};

/** How it stands, and what one types next: before what a narrow terminal may cut off. */
const standing = (
  { status, run }: PlanProgress['phases'][number],
  reason: PhaseWaiting['reason'] | undefined,
): readonly [string, string] => {
  if (run === null) return [status, ''];
  return reason === undefined
    ? [status, `emend show ${shownKey(run)}`]
    : [`waits: ${reason}`, `emend review ${shownKey(run)}`];
};
