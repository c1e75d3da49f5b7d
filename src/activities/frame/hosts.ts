/** Which host lives, and which has a checkout: asked by runs whose commands wait. */
import type { Activity } from './activity.js';

export const checkHost: Activity<'checkHost'> = async ({ group }, { queue }) => ({
  isServed: await group.runsCommands(queue),
});

/** The checkout is made around it, and its host is added to the result (src/activities/step/in-checkout.ts). */
export const prepareCheckout: Activity<'prepareCheckout'> = () => Promise.resolve({});
