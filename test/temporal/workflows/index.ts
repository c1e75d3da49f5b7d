/** The smallest workflows that show what a payload, a failure and a pause do on a real server. */
import {
  condition,
  defineQuery,
  defineSignal,
  defineUpdate,
  proxyActivities,
  setHandler,
} from '@temporalio/workflow';
import { answerQuery } from '../../../src/workflows/frame/messages.js';
import type { Activities } from '../support/activities.js';

const { makeText, textLength, failWith, echo, beatOnce, failSaying } = proxyActivities<Activities>({
  startToCloseTimeout: '30 seconds',
  retry: { initialInterval: '10 milliseconds', backoffCoefficient: 1, maximumAttempts: 5 },
});

const { late } = proxyActivities<{
  late: (input: object) => Promise<{ readonly attempt: number }>;
}>({
  startToCloseTimeout: '60 seconds',
  heartbeatTimeout: '1 second',
  retry: { initialInterval: '10 milliseconds', backoffCoefficient: 1 },
});
/** Says which attempt's result was taken. */
export async function oneOfTwo(): Promise<number> {
  return (await late({ v: 2, stepKey: '0'.repeat(32), log: [], workspace: '/nowhere' })).attempt;
}

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

export const say = defineSignal<[string]>('say');
export const put = defineUpdate<string, [string]>('put');
export const get = defineQuery<string, [string]>('get');

/** Sends one text every way that a value takes between client, workflow and activity; says what came back different. */
export async function everyWay(text: string): Promise<string[]> {
  let said: string | null = null;
  let updated: string | null = null;
  setHandler(say, (given) => {
    said = given;
  });
  setHandler(put, (given) => {
    updated = given;
    return given;
  });
  setHandler(get, (given) => `${given}${text}`.slice(given.length));
  const echoed = await echo(text);
  const beaten = await beatOnce(text);
  const details = await failSaying(text).catch((error: unknown) => detailsOf(error));
  await condition(() => said !== null && updated !== null);
  const came = { echoed, beaten, details, said, updated };
  return Object.entries(came).flatMap(([way, value]) =>
    value === text ? [] : [`${way}: ${String(value).slice(0, 60)}`],
  );
}

export const rows = defineQuery<string[], [number]>('rows');

/** Answers with so many rows of 100 characters, as a long ledger would. */
export async function asked(): Promise<void> {
  answerQuery(
    rows,
    (count) => Array.from({ length: count }, (_, n) => String(n).padEnd(100, 'row')),
    'rows',
  );
  await condition(() => false);
}

const detailsOf = (error: unknown): unknown => {
  const { cause } = error as { cause?: { details?: unknown[] } };
  return cause?.details?.[0];
};
