/** An event in a few words: its fields, those that say something to a person. */
import type { StepEvent } from '../../../shared/events.js';

const LEFT_OUT: readonly string[] = ['type', 'seq', 'at', 'partialLength'];

const valueText = (value: unknown): string => {
  if (Array.isArray(value)) return value.map(valueText).join(', ');
  if (typeof value === 'object' && value !== null)
    return Object.entries(value)
      .map(([name, each]) => `${valueText(each)} ${name}`)
      .join(', ');
  return String(value);
};

export const eventText = (event: StepEvent): string => {
  switch (event.type) {
    case 'answer_refused':
      return `${event.file}, attempt ${event.attempt}, ${event.outcome}: ${event.message}`;
    case 'truncation_detected':
      return `${event.file}: ${event.reason}${event.stopReason === null ? '' : ` (${event.stopReason})`}`;
    case 'decided':
      return `${event.answer} by ${event.by}`;
    case 'sealed':
      return `proposal ${event.proposal.slice(0, 8)}, ${event.file_count} files, +${event.added} -${event.removed}`;
    case 'verified':
      return `${event.outcome}${event.summary === '' ? '' : `: ${event.summary}`}`;
    case 'committed':
      return `${event.commit.slice(0, 12)}${event.note === null ? '' : ` (${event.note})`}`;
    default:
      return Object.entries(event)
        .filter(([name, value]) => !LEFT_OUT.includes(name) && value !== null)
        .map(([name, value]) => `${name.replaceAll('_', ' ')}: ${valueText(value)}`)
        .join('; ');
  }
};
