/** The seven stages of a step, and which of them owns a place, a fact and a decision. */
import { foundText } from '../../../shared/event-text.js';
import { outageEffect } from '../../../shared/outage.js';
import { busyWait_ms } from '../../frame/log.js';
import { type Effect, pause } from '../protocol.js';
import { wantsBase } from '../selectors.js';
import type { StepState } from '../state.js';
import { applyEffect } from './apply.js';
import { proposeEffect } from './propose/index.js';
import { reviewEffect } from './review.js';
import { auditEffect } from './verify/audit.js';
import { baseQuestion } from './verify/base.js';

/** Stages in which the tests of the base may have ended, and in which nothing is lost by an answer to what they showed. */
const ASKS_ABOUT_BASE: readonly StepState['stage']['at'][] = ['propose', 'review', 'apply'];

export function nextEffect(state: StepState, now: number): Effect {
  const { stage } = state;
  if (stage.at === 'closed') return { kind: 'finish' };
  if (state.decision !== null) return { kind: 'await_decision' };
  if (state.ask !== null) return { kind: 'pause', pause: state.ask };
  const question = ASKS_ABOUT_BASE.includes(stage.at) ? baseQuestion(state) : null;
  if (question !== null) return pause(...question);
  switch (stage.at) {
    case 'pick':
      return outageEffect(state, now) ?? { kind: 'pick' };
    case 'propose': {
      const { ready } = state.base;
      if (ready !== null && !state.answered.tests && ready.test.found !== null) {
        const { found, from } = ready.test;
        const what = from === undefined ? found : foundText(from);
        return pause('test_command', `found the project's test command: ${what}`, [], found);
      }
      if (ready !== null && !state.answered.estimate && ready.overEstimate.length > 0)
        return pause('estimate', ready.overEstimate.join('; '));
      const next = proposeEffect(state, now);
      const isCall = next.kind === 'propose' || next.kind === 'brief';
      return isCall && wantsBase(state) ? { kind: 'try_base', beside: next } : next;
    }
    case 'review':
      return reviewEffect(state);
    case 'apply':
      if (stage.busy?.waiting === true)
        return { kind: 'wait', ms: busyWait_ms(state.input.timings.lockPoll_ms, stage.busy.tries) };
      if (wantsBase(state)) return { kind: 'try_base', beside: null };
      return applyEffect(state);
    case 'audit':
      return auditEffect(state, now);
    case 'verify':
    case 'preflight':
    case 'build':
    case 'rebase':
    case 'release':
    case 'roll_back':
    case 'commit':
      return { kind: stage.at };
  }
}
