/** Activities that count how often each was run. */
import { ApplicationFailure } from '@temporalio/common';
import { fail } from '../../../src/shared/problems.js';

export const createActivities = () => {
  const runs = { makeText: 0, textLength: 0, failWith: 0 };
  return {
    runs,
    activities: {
      makeText: async (bytes: number): Promise<string> => {
        runs.makeText++;
        return 'x'.repeat(bytes);
      },
      textLength: async (text: string): Promise<number> => {
        runs.textLength++;
        return text.length;
      },
      failWith: async (kind: 'long' | 'problem'): Promise<void> => {
        runs.failWith++;
        if (kind === 'problem') fail('disk', 'There is no room.');
        throw ApplicationFailure.create({
          message: 'm'.repeat(3_000_000),
          nonRetryable: true,
          details: ['d'.repeat(3_000_000)],
        });
      },
    },
  };
};
export type Activities = ReturnType<typeof createActivities>['activities'];
