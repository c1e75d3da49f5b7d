/** An event in one line, with the words that the documentation uses: for the terminal, the report and the page. Pure. */
import type { StepEvent } from './events.js';
import { planEventText } from './plan/event-words.js';
import { clockTime } from './outage.js';
import { count } from './text.js';

const all = (file: string): string => (file === '*' ? 'all files' : file);

export const eventWords = (event: StepEvent): string => {
  switch (event.type) {
    case 'preflight_complete':
      return `looked at ${count(event.targetFileCount, 'file')}, complexity ${event.estimatedComplexity}${event.shouldSplit ? `, split: ${event.reason}` : ''}`;
    case 'truncation_detected':
      return `truncated: ${all(event.file)}: ${event.reason}; ${count(event.partialLength, 'byte')} thrown away`;
    case 'edit_split_triggered':
      return `split by file: ${count(event.file_count, 'file')}: ${event.reason}`;
    case 'edit_chunk_started':
      return `asking for ${all(event.file)} (${event.chunk_index}/${event.total_chunks})`;
    case 'edit_chunk_completed':
      return `answered: ${all(event.file)}`;
    case 'edit_chunk_failed':
      return `failed: ${all(event.file)}: ${event.reason}`;
    case 'edit_step_paused':
      return `paused: ${event.reason} (decision ${event.decision})`;
    case 'format_chosen':
      if (event.deletes === true) return `${event.file_path}: goes, as the job says`;
      return `${event.file_path}: ${count(event.line_count, 'line')}, bucket ${event.bucket}, ${event.format}`;
    case 'ladder':
      return `next try for ${all(event.file)}: ${event.to}`;
    case 'answer_refused':
      return `refused: ${all(event.file)} (${event.outcome}, answer ${event.attempt}): ${event.message}`;
    case 'warning':
      return `warning: ${event.message}`;
    case 'model_down':
      return `the model is down (try ${event.tries}): ${event.message}${event.next === null ? '' : ` Next try at ${clockTime(event.next)}; at once: emend retry RUN`}`;
    case 'files_picked':
      return `picked ${count(event.file_count, 'file')} to edit`;
    case 'brief_ready':
      return 'agreed on names and parts';
    case 'sealed':
      return `sealed proposal ${event.proposal.slice(0, 8)}: ${count(event.file_count, 'file')}, +${event.added} -${event.removed}`;
    case 'decided':
      return `${event.answer} for ${count(event.files, 'file')} by ${event.by}`;
    case 'decision_settled':
      return `settled: ${event.reason} (decision ${event.decision})`;
    case 'decision_ignored':
      return `did not count: ${event.what}: ${event.why}`;
    case 'applied':
      return `applied to ${count(event.file_count, 'file')}`;
    case 'apply_busy':
      return `waiting: ${event.advice ?? `${event.holder} holds the workspace`}`;
    case 'conflict':
      return `conflict at ${event.where}: ${event.files.join(', ')}`;
    case 'rebased':
      return event.clean ? 'carried over to the files as they are now' : 'could not be carried over';
    case 'verified':
      return `tests: ${event.outcome}${event.summary === '' ? '' : `: ${event.summary}`}`;
    case 'rolled_back':
      return `rolled back ${count(event.file_count, 'file')}${event.kept.length === 0 ? '' : `; left alone, changed meanwhile: ${event.kept.join(', ')}`}`;
    case 'committed':
      return `committed ${event.commit.slice(0, 12)}${event.note === null ? '' : `: ${event.note}`}`;
    case 'activity_failed':
      return `${event.activity} failed: ${event.message}`;
    case 'abort_requested':
      return `abort asked by ${event.by}`;
    case 'step_finished':
      return `finished: ${event.outcome}`;
    default:
      return planEventText(event);
  }
};
