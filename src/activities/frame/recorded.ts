/** ◆ Results that depend on the moment: what a key came to first is what every later attempt gets. */
import { isRefusal, ProblemError, ProblemsError, type Problem } from '../../shared/problems.js';
import type { RecordStore } from '../../stores/ports.js';

/** A refusal is not kept: nothing is built on it, and what it names may be mended; a reset of the run looks again. */
export async function recordOnce<T extends object>(
  records: RecordStore,
  key: string,
  compute: () => Promise<T>,
): Promise<T> {
  const value = await records.get(key);
  if (value !== null) return value as T;
  const made = await compute();
  return 'outcome' in made && made.outcome === 'refused'
    ? made
    : (await records.putIfAbsent(key, made)).value;
}

interface Refused {
  readonly outcome: 'refused';
  readonly problem: Problem;
}
/** An expected refusal as a result, all its problems in one: the first one's code, all their sentences. Throws what is none. */
export function asRefused(error: unknown): Refused {
  if (!(error instanceof ProblemError) || !isRefusal(error.problem)) throw error;
  const { problem } = error;
  if (!(error instanceof ProblemsError)) return { outcome: 'refused', problem };
  const message = error.problems.map((each) => each.message).join('\n');
  return { outcome: 'refused', problem: { ...problem, message } };
}
