/** A plan's activities, called as a step's are. Most work where the workspace is; those that ask a model, on any worker. */
import { proxyActivities } from '@temporalio/workflow';
import type { AdviceActivities, RevisingActivities } from '../shared/plan/advice.js';
import type { PlanActivities } from '../shared/plan/activities.js';
import type { PlanInput } from '../shared/plan/types.js';
import type { StepActivities } from '../shared/protocol.js';
import { activityCalls } from './activities.js';

export function planActivities(input: PlanInput) {
  const { host, model, commandTimeouts } = activityCalls(input);
  return {
    host: proxyActivities<PlanActivities & RevisingActivities & Pick<StepActivities, 'verify'>>(host),
    model: proxyActivities<AdviceActivities>(model),
    commandTimeouts,
  };
}
