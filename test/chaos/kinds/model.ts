/** Kinds of trouble that a model or the way to it makes; the rehearsal plays them. */
import type { ModelFault } from '../jobs.js';
import type { Kind } from '../kind.js';

const model = (name: string, fault: ModelFault, faults = 1): Kind => ({
  name,
  bag: 'other',
  traits: { fault, faults, format: 'whole-file' },
  acts: ({ world, carrier }) => ({
    fired: () => {
      const met = world.rehearsal.requests().filter(({ rule }) => rule === `${carrier.name} fault`);
      return met.length < faults ? null : `request ${met.map(({ n }) => n).join(', ')}`;
    },
  }),
});

export const modelKinds: readonly Kind[] = [
  model('truncated answer', { kind: 'truncate', bytes: 700 }),
  model('dropped stream', { kind: 'drop', after_bytes: 900 }),
  model('overload (529)', { kind: 'overload' }),
  model('model outage', { kind: 'overload' }, 5),
  model('rate limit (429)', { kind: 'rate_limit', retry_after_ms: 500 }),
  model('server error (500)', { kind: 'server_error' }),
  model('error in the stream', { kind: 'error_event', after_chunks: 3 }),
  model('silent stall', { kind: 'silence', after_bytes: 900 }),
  model('wrong marker', { kind: 'wrong_nonce' }),
  model('malformed event', { kind: 'malformed', after_chunks: 3 }),
  model('refusal', { kind: 'refusal' }),
];
