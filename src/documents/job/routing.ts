/** Chooses the model of a step and its output budget. */
import type { Complexity, ModelEntry, ProjectConfig } from './types.js';
import { LIMITS, type LimitName } from '../../shared/limits.js';

/** The part of the project's configuration that decides about the model. */
interface RoutingConfig extends Pick<ProjectConfig, 'model' | 'routes'> {
  readonly models: Readonly<Record<string, Pick<ModelEntry, 'maxOutput_tokens'>>>;
  readonly limits: Partial<Record<LimitName, number | null>>;
}

interface RouteQuestion {
  readonly category: string | null;
  readonly complexity: Complexity;
  /** `model:` of the job, or null if the job does not name one. */
  readonly jobModel: string | null;
}

/**
 * Returns the model of a step and its output budget. The model is that of the job, else that of the first route that matches, else that of the
 * project. The budget is that of the route if the route's model is used, else that of the limits. It never exceeds the model's maximum.
 */
export const route = (config: RoutingConfig, { category, complexity, jobModel }: RouteQuestion) => {
  const match = config.routes.find(
    (entry) =>
      (entry.category === undefined || entry.category === category) &&
      (entry.complexity === undefined || entry.complexity === complexity),
  );
  const model = jobModel ?? match?.model ?? config.model;
  const routeBudget = match?.model === model ? match.outputBudget_tokens : undefined;
  const requested =
    routeBudget ??
    config.limits.outputBudget_tokens ??
    LIMITS.outputBudget_tokens.default ??
    LIMITS.outputBudget_tokens.max;
  const most = Object.hasOwn(config.models, model)
    ? config.models[model]?.maxOutput_tokens
    : undefined;
  return { model, outputBudget_tokens: Math.min(requested, most ?? requested) };
};
