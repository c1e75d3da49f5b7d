import { fail } from '../shared/problems.js';
import type { Emend, RunGateway } from './types.js';

/** Throws ProblemError `no_server`, with the reason, when there is none. */
export const needRuns = ({ runs, unreachable }: Pick<Emend, 'runs' | 'unreachable'>): RunGateway =>
  runs ?? fail('no_server', unreachable?.message ?? 'No Temporal server answers.', unreachable?.next);
