/** Which model answers, with what output budget: the job's word first, else the first route that fits, else the project's model. */
import { LIMITS, type LimitName } from '../shared/limits.js';

type Complexity = 'low' | 'medium' | 'high';

/** The part of the project's configuration that decides. */
export interface RoutingConfig {
  readonly model: string;
  readonly routes: readonly {
    readonly category?: string;
    readonly complexity?: Complexity;
    readonly model: string;
    readonly outputBudget_tokens?: number;
  }[];
  readonly models: Readonly<Record<string, { readonly maxOutput_tokens: number }>>;
  readonly limits: Partial<Record<LimitName, number | null>>;
}

interface RouteQuestion {
  readonly category: string | null;
  readonly complexity: Complexity;
  /** `model:` of the job; null: not said. */
  readonly jobModel: string | null;
}

/** The budget is the route's (where its model is used), else the limit's, and never over what the model can give. */
export const route = (config: RoutingConfig, { category, complexity, jobModel }: RouteQuestion) => {
  const fits = config.routes.find(
    (r) =>
      (r.category === undefined || r.category === category) &&
      (r.complexity === undefined || r.complexity === complexity),
  );
  const model = jobModel ?? fits?.model ?? config.model;
  const ofRoute = fits?.model === model ? fits.outputBudget_tokens : undefined;
  const wanted =
    ofRoute ??
    config.limits.outputBudget_tokens ??
    LIMITS.outputBudget_tokens.default ??
    LIMITS.outputBudget_tokens.max;
  const most = Object.hasOwn(config.models, model) ? config.models[model]?.maxOutput_tokens : undefined;
  return { model, outputBudget_tokens: Math.min(wanted, most ?? wanted) };
};
