/** The rule for a path that names a run: lists and the history show the name, so it may contain no secret. Pure. */
import { problem, type Problem } from './problems.js';
import { tokensIn, withoutTokens } from './tokens.js';

/** Returns the refusal of a path that contains a secret; null: it contains none. */
export const refusalOfName = (named: 'job file' | 'plan', path: string): Problem | null =>
  tokensIn(path).length === 0
    ? null
    : problem(
        'secret_in_name',
        `The path of the ${named} contains what looks like a secret, and it names the run: ${withoutTokens(path)}.`,
        'Rename the file or its folder.',
      );
