/** A run goes on elsewhere, as its host is gone: where, what must be there, and what is done there again. Pure. */
import type { DecisionRequest } from '../../shared/decisions.js';
import { hostQueueOf, queuesOfAny } from '../../shared/names.js';
import { cut } from '../../shared/rules.js';
import type { StepSetup } from '../../shared/run.js';
import { asText } from '../../shared/text.js';
import { emit } from '../frame/log.js';
import { type Move, within } from '../frame/machine.js';
import { openThere } from './selectors.js';
import { onRolledBack } from './stages/apply.js';
import type { StepState } from './state.js';

export const moveOf = (
  state: StepState,
  { set = {} }: DecisionRequest,
): Move<StepSetup> | string => {
  const { input, base, applied, proposal, edits } = state;
  const { snapshot = null, commitMessage = null, head = null } = base.ready ?? {};
  const commit = applied.lock?.head ?? head;
  const url = set.repository === undefined ? null : asText(set.repository);
  if (url !== null && (commit === null || commitMessage === null))
    return 'only a run that makes a commit, and has read its files, can continue in a checkout: move it to a directory';
  if (
    edits.files.some(({ manual }) => manual) ||
    applied.all.some((done) => done.proposal !== proposal?.ref)
  )
    return 'its directory holds what no proposal has as a whole (edits of a person, changes applied in parts): wait, or abort it';
  const workspace = url ?? asText(set.workspace ?? input.workspace);
  const repository = url === null || commit === null ? {} : { repository: { url, base: commit } };
  const host = hostQueueOf(input.queues, asText(set.host));
  const queues = url === null ? { ...input.queues, host } : queuesOfAny(input.queues);
  const unreadJob = input.job === null ? input.jobPath : null;
  const asked = {
    workspace,
    snapshot,
    proposal: proposal?.ref ?? null,
    commit,
    unreadJob,
    ...repository,
  };
  return { input: { ...input, workspace, queues, ...repository }, asked };
};

/** ◆ What was written there is written here, under a decision of its own: a record of what was applied is of one place. */
export const moved = (
  state: StepState,
  request: DecisionRequest,
  currentTime_ms: number,
): StepState => {
  const to = moveOf(state, request);
  if (typeof to === 'string') return state;
  const was = openThere(state);
  const applied = {
    all: [],
    uncertain: null,
    lock: null,
    onto: null,
    decision: state.nextDecision - 1,
  };
  const writes = ['apply', 'verify', 'release', 'commit'].includes(state.stage.at);
  const stage = writes ? ({ at: 'apply', busy: null } as const) : state.stage;
  const from = `${was.workspace} on host ${was.host}; applied there: ${was.files.join(', ') || 'nothing'}`;
  const message = cut(state.input.rules, `moved to ${to.input.workspace} from ${from}`);
  const here = { input: to.input, left: [...(state.left ?? []), was], stage };
  const untested = within(state, 'tests', { proposed: null, afterApply: null });
  const there = emit({ ...within(untested, 'applied', applied), ...here }, currentTime_ms, {
    type: 'warning',
    message,
  });
  return stage.at === 'roll_back'
    ? onRolledBack(there, { files: [], leftAlone: [] }, currentTime_ms)
    : there;
};
