/** The smallest workflows that show what a payload, a failure and a pause do on a real server. */
import { condition, defineSignal, proxyActivities, setHandler } from '@temporalio/workflow';
import type { Activities } from '../support/activities.js';

const { makeText, textLength, failWith } = proxyActivities<Activities>({
  startToCloseTimeout: '30 seconds',
  retry: { initialInterval: '10 milliseconds', backoffCoefficient: 1, maximumAttempts: 5 },
});

export const goOn = defineSignal('goOn');

/** Passes a text of that many bytes from one activity to the next. */
export async function largeText(bytes: number): Promise<number> {
  return textLength(await makeText(bytes));
}

export async function failing(): Promise<void> {
  await failWith();
}

export async function paused(): Promise<string> {
  let going = false;
  setHandler(goOn, () => {
    going = true;
  });
  await condition(() => going);
  return 'went on';
}
