/** A phase as the plan knows it when it reads it first. Pure. */
import type { PhaseReading } from '../../../../shared/plan.js';
import type { PhaseEntry } from '../../state.js';

/** Returns how the document says that a phase ended, if it does. Such a phase needs no mark. */
export const closedBy = ({ marker }: PhaseReading): Pick<PhaseEntry, 'status' | 'marked'> | null =>
  marker === 'completed' || marker === 'skipped' ? { status: marker, marked: true } : null;

/** Returns what the plan knows of a phase at first. `from`: the run starts with the phase of that number, after this one. */
export const entryOf = (phase: PhaseReading, from: number | null = null): PhaseEntry => {
  const before = from !== null;
  return {
    ...phase,
    status: before ? 'completed' : 'pending',
    marked: before,
    why: before && phase.marker === null ? `the run started with Phase ${from}` : null,
    complexity: { score: phase.score.score, method: 'threshold', reasoning: null },
    runs: 0,
    job: null,
    result: null,
    commits: [],
    tests: null,
    unfinished: 0,
    cancelled: false,
    failures: [],
    note: null,
    report: null,
    asksItself: false,
    testsFailed: false,
    replans: 0,
    secondAsked: false,
    forceSpent: false,
    complexityEvaluated: false,
    complexityTold: false,
    worktree: null,
    tree: null,
    merged: false,
    marks: 1,
    marksLost: 0,
    markSkipped: false,
    ...closedBy(phase),
  };
};
