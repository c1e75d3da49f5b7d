/** All invariants, in the order in which they are told. */
import { everyCallIsJournaled, paidOnce, unknownCallsShown } from './calls.js';
import { filesAreWhole, nothingIsLeft, savesAreKept, stepsAreWhole } from './files.js';
import type { Invariant } from './judge.js';
import {
  documentsAreKept,
  phasesLandOnce,
  plansEndAsTheyShould,
  worktreesAreGone,
} from './plans.js';
import {
  appliedOnce,
  committedOnce,
  decisionsKept,
  endsAsItShould,
  faultsFired,
  locksAreFree,
  processesBehave,
  toldTheSame,
  workflowsReplay,
} from './runs.js';

export const INVARIANTS: readonly Invariant[] = [
  filesAreWhole,
  stepsAreWhole,
  savesAreKept,
  appliedOnce,
  committedOnce,
  phasesLandOnce,
  documentsAreKept,
  worktreesAreGone,
  decisionsKept,
  paidOnce,
  everyCallIsJournaled,
  unknownCallsShown,
  toldTheSame,
  endsAsItShould,
  plansEndAsTheyShould,
  locksAreFree,
  nothingIsLeft,
  workflowsReplay,
  processesBehave,
  faultsFired,
];
