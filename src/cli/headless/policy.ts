/** Reads a review policy and approves by it. */
import { createHash } from 'node:crypto';
import { relative, resolve } from 'node:path';
import { decide, loginName } from '../../client/decide.js';
import type { ResolvedRun } from '../../client/resolve-run.js';
import { showRun } from '../../client/show-run.js';
import type { Emend } from '../../client/types.js';
import { judgeByPolicy, parsePolicy, type Policy } from '../../job/policy.js';
import type { DecisionPoint } from '../../shared/decisions.js';
import { fail, problem, ProblemsError } from '../../shared/problems.js';
import type { Io } from '../io.js';
import { plain } from '../render/text.js';
import { readGivenText, UNREADABLE } from '../../workspace/given-file.js';

/** Throws ProblemError `usage` (no such file) or ProblemsError `config_invalid` with everything that is wrong. */
export const readPolicy = async (path: string, cwd: string): Promise<Policy> => {
  const source =
    (await readGivenText(resolve(cwd, path), UNREADABLE)) ??
    fail('usage', `--policy ${path}: there is no such file that can be read.`, 'docs/cli.md describes policies.');
  const parsed = parsePolicy(source, relative(cwd, resolve(cwd, path)));
  if (parsed.ok) return parsed.value;
  const [first, ...others] = parsed.problems;
  throw new ProblemsError([first ?? problem('config_invalid', `${path}:1: cannot be read`), ...others]);
};

/** Approves where the proposal is within the policy's bounds (returns nothing), else says why not. */
export const approveBy =
  (io: Io, emend: Emend, policy: Policy, path: string, quiet: boolean) =>
  async (run: ResolvedRun, decision: DecisionPoint): Promise<readonly string[]> => {
    const { proposal, ledger } = await showRun(emend, run);
    const looked = proposal?.id === decision.proposalId ? proposal : null;
    if (looked === null) return ['the proposal could not be read'];
    const why = judgeByPolicy(policy, looked, ledger);
    if (why.length > 0) return why;
    const digest = createHash('sha256').update(JSON.stringify(policy)).digest('hex').slice(0, 12);
    const result = await decide(emend, run, {
      answer: 'approve',
      decision: decision.id,
      note: `within the policy ${path} (${digest})`,
      by: { name: loginName(), from: 'policy' },
    });
    if (!quiet) io.out(plain(`approved by the policy ${path}: ${result.message}`));
    return [];
  };
