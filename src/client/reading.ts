/** Commands that only read tell what the archive knows where the server does not. */
import { ProblemError } from '../shared/problems.js';
import type { Emend } from './types.js';

/**
 * A server that was there when it was connected to and then leaves a call unanswered is no server: `act`, which only reads, begins
 * again without one. Throws what `act` throws.
 */
export const reading = async <T>(emend: Emend, act: (emend: Emend) => Promise<T>): Promise<T> => {
  try {
    return await act(emend);
  } catch (error) {
    if (emend.runs === null || !(error instanceof ProblemError) || error.problem.code !== 'no_server') throw error;
    return act({ ...emend, runs: null, unreachable: error.problem });
  }
};
