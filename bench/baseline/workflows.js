/** What the measures are compared with: a workflow that does nothing, with as many activities as are asked for. */
import {
  condition,
  defineUpdate,
  proxyActivities,
  scheduleActivity,
  setHandler,
} from '@temporalio/workflow';

const { empty } = proxyActivities({ startToCloseTimeout: '1 minute' });
const go = defineUpdate('go');

/** `before` empty activities, then (where `update`) one update is waited for, then `after` more. */
export async function baseline({ before, after, update }) {
  let ready = false;
  let gone = !update;
  // Sent at once, answered when its turn has come: no client can decide with fewer round trips.
  setHandler(go, async () => {
    await condition(() => ready);
    gone = true;
  });
  for (let n = 0; n < before; n++) await empty();
  ready = true;
  await condition(() => gone);
  for (let n = 0; n < after; n++) await empty();
}

/** Schedules commands that wait for a slot, as many as are asked for. It is terminated while they wait. */
export async function waitingCommands({ taskQueue, count, activity, input }) {
  const options = { taskQueue, startToCloseTimeout: '1 hour', heartbeatTimeout: '1 minute' };
  await Promise.all(
    Array.from({ length: count }, () => scheduleActivity(activity, [input], options)),
  );
}
