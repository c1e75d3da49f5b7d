/** Activities that count how often each was run. */
import { Context } from '@temporalio/activity';
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
      echo: async (text: string): Promise<string> => text,
      /** Its first attempt beats with the text and fails; the second returns what the server kept of that. */
      beatOnce: async (text: string): Promise<unknown> => {
        const { info } = Context.current();
        if (info.attempt > 1) return info.heartbeatDetails as unknown;
        Context.current().heartbeat(text);
        throw ApplicationFailure.create({ message: 'again' });
      },
      failSaying: async (text: string): Promise<string> => {
        throw ApplicationFailure.create({ message: 'no', nonRetryable: true, details: [text] });
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
