/** The signals that only plans have: reports of work out of scope, and controls of the plan as a whole. */
import { shown } from '../frame/decisions/receiver.js';
import type { Machine } from '../frame/machine.js';
import { PLAN_CONTROLS, PLAN_REPORTS } from '../frame/messages.js';
import type { PlanFact } from './protocol.js';
import type { PlanState } from './state.js';

const SENDER_CHARS = 200; // bound: Characters of the name that a signal gives as its sender.

type Signals = NonNullable<Machine<PlanState, PlanFact, never, never>['signals']>;

export const PLAN_SIGNALS: Signals = [
  ...PLAN_REPORTS.map(([trigger, signal, description]) => ({
    signal,
    description,
    read: (state: PlanState, body: unknown): PlanFact => {
      const text = wordOf(body, 'text').trim().slice(0, state.input.rules.bounds.reason_chars);
      if (text !== '') return { type: 'reported', report: { trigger, text, by: senderOf(body) } };
      return {
        type: 'ignored',
        what: `${signal.name} ${shown(state, body)}`,
        why: 'its body names no text',
      };
    },
  })),
  ...PLAN_CONTROLS.map(([control, signal, description]) => ({
    signal,
    description,
    read: (_: PlanState, body: unknown): PlanFact => ({
      type: 'control_received',
      control,
      by: senderOf(body),
    }),
  })),
];

function wordOf(body: unknown, name: string): string {
  if (typeof body !== 'object' || body === null) return '';
  const word = (body as Readonly<Record<string, unknown>>)[name];
  return typeof word === 'string' ? word : '';
}

const senderOf = (body: unknown): string => wordOf(body, 'by').slice(0, SENDER_CHARS) || 'someone';
