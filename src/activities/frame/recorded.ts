/** ◆ Results that depend on the moment: what a key came to first is what every later attempt gets. */
import { checkVersion, isKnown, isRefusal, ProblemError, ProblemsError, type Problem } from '../../shared/problems.js';
import type { RecordStore } from '../../stores/ports.js';

/** A refusal is not kept: nothing is built on it, and what it names may be mended; a reset of the run looks again. */
export async function recordOnce<T extends object>(
  records: RecordStore,
  key: string,
  compute: () => Promise<T>,
  isReadable: (value: unknown) => boolean = isKnown,
): Promise<T> {
  let value = await records.get(key);
  if (value === null || value === undefined) {
    const made = await compute();
    if ('outcome' in made && made.outcome === 'refused') return made;
    ({ value } = await records.putIfAbsent<unknown>(key, made));
  }
  if (!isReadable(value)) checkVersion(value, `The record ${key}`);
  return value as T;
}

interface Refused {
  readonly v: 1;
  readonly outcome: 'refused';
  readonly problem: Problem;
}
/** An expected refusal as a result, all its problems in one: the first one's code, all their sentences. Throws what is none. */
export function asRefused(error: unknown): Refused {
  if (!(error instanceof ProblemError) || !isRefusal(error.problem)) throw error;
  const { problem } = error;
  if (!(error instanceof ProblemsError)) return { v: 1, outcome: 'refused', problem };
  const message = error.problems.map((each) => each.message).join('\n');
  return { v: 1, outcome: 'refused', problem: { ...problem, message } };
}
