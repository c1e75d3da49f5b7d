/** Activities that count how often each was run. */
import { ApplicationFailure } from '@temporalio/common';

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
      failWith: async (): Promise<void> => {
        runs.failWith++;
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
