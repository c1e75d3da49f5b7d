/** An event in one line for a terminal. Pure. */
import { eventWords } from '../../shared/event-words.js';
import type { StepEvent } from '../../shared/events.js';
import { plain } from './text.js';

export const eventText = (event: StepEvent): string => plain(eventWords(event));

/** Progress says these by itself; a log of a run in a terminal leaves them out. */
const QUIET: readonly StepEvent['type'][] = [
  'format_chosen',
  'edit_chunk_started',
  'edit_chunk_completed',
  'edit_step_paused',
  'decision_settled',
  'step_finished',
  'plan_finished',
  'markers_checked',
];

export const isWorthALine = (event: StepEvent): boolean => !QUIET.includes(event.type);
