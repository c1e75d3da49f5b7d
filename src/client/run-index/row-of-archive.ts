/** Makes the row of a run from its archive and the text of its task. Apart, as a list that reads no archive needs none of what this loads. */
import type { BlobRef } from '../../shared/ids.js';
import { statsOfRun } from '../../documents/plan/index.js';
import { nullOn } from '../../shared/problems.js';
import { jsonOf } from '../../system/json.js';
import type { BlobStore } from '../../stores/ports.js';
import { isRecord } from '../../shared/text.js';
import { reportFacts, type ReportFacts } from '../archive/report.js';
import { countsOfRun } from '../archive/statistics.js';
import type { ArchivedRun } from '../archive/run.js';
import { archivedStatus } from '../archive/status.js';
import { searchable, type RowFacts, type RunRow } from './row.js';

const TASK_CHARS = 1_000; // bound: Characters of a task that are searched.
const FILES_CHARS = 2_000; // bound: Characters of the paths of a run's files that are searched.
const OUTCOME_CHARS = 500; // bound: Characters of the sentence about its end that are searched.

/** Returns the row of a run whose archive had this stamp before it was read. */
export const rowOf = async (
  blobs: Pick<BlobStore, 'get'>,
  run: ArchivedRun,
  stamp: string,
): Promise<RunRow> => {
  const { stepKey, closed } = run;
  const { workspace, state } = archivedStatus(run);
  const report = reportFacts(run);
  const facts = factsOf(run, report, stamp);
  const isPlan = facts.planStats !== null || run.activities.some(({ name }) => name === 'readPlan');
  const task = await taskOf(blobs, run.started?.job);
  return {
    stepKey,
    last_ms: Date.parse(run.lastAt ?? '') || 0,
    state: closed === null ? 'unknown' : state,
    isEnded: closed !== null,
    workspace,
    plan: isPlan ? facts.jobPath : '',
    facts,
    text: searchable([...textsOf(run, report), task].join(' ')),
  };
};

const factsOf = (run: ArchivedRun, report: ReportFacts, stamp: string): RowFacts => {
  const { started, events, omitted } = run;
  const { title, jobPath, doing } = archivedStatus(run);
  return {
    stamp,
    startedAt: run.firstAt,
    title,
    jobPath,
    doing: started === null ? (omitted ?? doing) : doing,
    workflowId: started?.workflowId ?? null,
    namespace: started?.namespace ?? null,
    hostQueue: started?.queues.host ?? null,
    isFinished: events.some(({ type }) => type === 'step_finished'),
    omitted,
    counts: countsOfRun(report),
    planStats: statsOfRun(events),
  };
};

/** Returns what is searched of a run, but for its task. */
const textsOf = (run: ArchivedRun, report: ReportFacts): readonly string[] => {
  const { stepKey, started, closed } = run;
  const { title, jobPath, workspace, doing } = archivedStatus(run);
  const files = new Set([
    ...(closed?.result?.files ?? []),
    ...report.ledger.map(({ path }) => path),
  ]);
  return [
    stepKey,
    title,
    jobPath,
    workspace,
    started?.workflowId ?? '',
    closed === null ? '' : doing.slice(0, OUTCOME_CHARS),
    report.outcome ?? '',
    [...files].join(' ').slice(0, FILES_CHARS),
  ];
};

/** Returns the instructions of a stored job as far as they are searched; empty: they are gone, or there are none. */
const taskOf = async (blobs: Pick<BlobStore, 'get'>, job: BlobRef | undefined): Promise<string> => {
  if (job === undefined) return '';
  const bytes = await blobs.get(job).catch(nullOn('blob_lost', 'disk', 'store_unusable'));
  if (bytes === null) return '';
  const text = new TextDecoder().decode(bytes);
  const value = jsonOf(text);
  const instructions =
    isRecord(value) && typeof value.instructions === 'string' ? value.instructions : text;
  return instructions.slice(0, TASK_CHARS);
};
