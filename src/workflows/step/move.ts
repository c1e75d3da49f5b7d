/** Moves a run whose host is gone: to which place, what must be there, and what is applied there again. Pure. */
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

/** Returns where the answer moves the run, and what must be there. A text says why it cannot be moved there. */
export function moveOf(state: StepState, { set = {} }: DecisionRequest): Move<StepSetup> | string {
  const url = set.repository === undefined ? null : asText(set.repository);
  const refusal = moveRefusal(state, url);
  if (refusal !== null) return refusal;
  const { input, base, proposal } = state;
  const workspace = url ?? asText(set.workspace ?? input.workspace);
  const commit = baseCommit(state);
  const repository = url === null || commit === null ? {} : { repository: { url, base: commit } };
  const host = hostQueueOf(input.queues, asText(set.host));
  const queues = url === null ? { ...input.queues, host } : queuesOfAny(input.queues);
  return {
    input: { ...input, workspace, queues, ...repository },
    asked: {
      workspace,
      snapshot: base.ready?.snapshot ?? null,
      proposal: proposal?.ref ?? null,
      commit,
      unreadJob: input.job === null ? input.jobPath : null,
      ...repository,
    },
  };
}

/** Returns the commit that the files of the run come from. Null: none is known. */
const baseCommit = ({ base, applied }: StepState): string | null =>
  applied.lock?.head ?? base.ready?.head ?? null;

/** Returns why the run cannot be moved. Null: it can. */
function moveRefusal(state: StepState, url: string | null): string | null {
  const { base, applied, proposal, edits } = state;
  const commitMessage = base.ready?.commitMessage ?? null;
  if (url !== null && (baseCommit(state) === null || commitMessage === null))
    return 'only a run that makes a commit, and has read its files, can continue in a checkout: move it to a directory';
  const isInParts = applied.all.some((application) => application.proposal !== proposal?.ref);
  return edits.files.some(({ manual }) => manual) || isInParts
    ? 'its directory holds what no proposal has as a whole (edits of a person, changes applied in parts): wait, or abort it'
    : null;
}

/** ◆ Moves the run. What was applied there is applied here under another decision, as the record of an application is of one place. */
export const moved = (
  state: StepState,
  request: DecisionRequest,
  currentTime_ms: number,
): StepState => {
  const move = moveOf(state, request);
  if (typeof move === 'string') return state;
  const open = openThere(state);
  const applied = {
    all: [],
    uncertain: null,
    lock: null,
    onto: null,
    decision: state.nextDecision - 1,
  };
  const writes = ['apply', 'verify', 'release', 'commit'].includes(state.stage.at);
  const stage = writes ? ({ at: 'apply', busy: null } as const) : state.stage;
  const origin = `${open.workspace} on host ${open.host}; applied there: ${open.files.join(', ') || 'nothing'}`;
  const message = cut(state.input.rules, `moved to ${move.input.workspace} from ${origin}`);
  const place = { input: move.input, left: [...(state.left ?? []), open], stage };
  const untested = within(state, 'tests', { proposed: null, afterApply: null });
  const nextState = emit({ ...within(untested, 'applied', applied), ...place }, currentTime_ms, {
    type: 'warning',
    message,
  });
  return stage.at === 'roll_back'
    ? onRolledBack(nextState, { files: [], leftAlone: [] }, currentTime_ms)
    : nextState;
};
