/** What a run in GitHub Actions shows beside the files: findings of its proposal, what it waits for, how it failed. */
import { type ResolvedRun, refreshRun } from '../../client/resolve-run.js';
import { showRun } from '../../client/show-run.js';
import type { Emend } from '../../client/types.js';
import { shownKey } from '../../shared/refs.js';
import type { Followed } from '../follow-run.js';
import type { Io } from '../io.js';
import { annotationLine, ofFinding, ofProblem, ofWaiting, type Annotation } from './annotations.js';

export const annotate = async (io: Io, emend: Emend, run: ResolvedRun, followed: Followed): Promise<void> => {
  const { proposal } = await showRun(emend, await refreshRun(emend, run));
  const lines = [...(proposal?.findings ?? []).map(ofFinding), ...endOf(followed, shownKey(run.stepKey))];
  for (const each of lines) io.err(annotationLine(each));
};

const endOf = (followed: Followed, shown: string): readonly Annotation[] => {
  switch (followed.kind) {
    case 'waiting': {
      const { decision } = followed.status;
      return decision === null
        ? []
        : [ofWaiting(decision.reason, decision.id, [decision.message, ...followed.why, `emend review ${shown}`])];
    }
    case 'closed': {
      const { result, status, message } = followed.closed;
      if (result === null)
        return [{ level: 'error', title: `emend: ${status.toLowerCase()}`, message: message ?? status }];
      return result.problem === null ? [] : [ofProblem(result.problem)];
    }
    case 'no_worker':
      return [{ level: 'error', title: 'emend: no worker', message: followed.note }];
    case 'interrupted':
      return [];
  }
};
