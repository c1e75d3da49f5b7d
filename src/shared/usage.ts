/** Sums of what calls used. Pure. */
import type { StepUsage } from './protocol.js';

export const NO_USAGE: StepUsage = {
  calls: 0,
  unknownCalls: 0,
  input_tokens: 0,
  output_tokens: 0,
  cacheRead_tokens: 0,
  cacheWrite_tokens: 0,
  usd: 0,
  seconds: 0,
};

/** One unknown price makes the sum unknown. */
export const addUsage = (a: StepUsage, b: StepUsage): StepUsage => ({
  calls: a.calls + b.calls,
  unknownCalls: a.unknownCalls + b.unknownCalls,
  input_tokens: a.input_tokens + b.input_tokens,
  output_tokens: a.output_tokens + b.output_tokens,
  cacheRead_tokens: a.cacheRead_tokens + b.cacheRead_tokens,
  cacheWrite_tokens: a.cacheWrite_tokens + b.cacheWrite_tokens,
  usd: a.usd === null || b.usd === null ? null : a.usd + b.usd,
  seconds: a.seconds + b.seconds,
});

export const sumUsage = (all: readonly StepUsage[]): StepUsage => all.reduce(addUsage, NO_USAGE);
