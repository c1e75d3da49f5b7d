/** What the log of a branch says of a plan: the commits of its phases and of their marks, by their trailers. */
import { STORE_BOUNDS } from '../shared/bounds.js';
import { git, valueOf } from './git.js';

export interface PlanCommit {
  readonly commit: string;
  /** Of the run that made it, and the phase's id in that run. */
  readonly plan: string;
  readonly phase: string;
  readonly kind: 'phase' | 'mark';
  readonly subject: string;
  readonly body: string;
  /** A later commit of the branch says that it reverts this one. */
  readonly reverted: boolean;
}

const TRAILER = /^([0-9a-f]{32})-(p\d+)-(m?)\d+$/;
const REVERTS = /This reverts commit ([0-9a-f]{40,64})/g;

/** Newest first, at most `STORE_BOUNDS.planCommits`; `planPath` as the messages of phases and marks name it. */
export async function planCommits(root: string, planPath: string): Promise<readonly PlanCommit[]> {
  const wanted = ['%H', '%(trailers:key=Emend-Step,valueonly,separator=%x2C)', '%s', '%b'];
  const width = wanted.length;
  const format = `--format=${wanted.join('%x00')}`;
  const grep = [`--grep=Plan ${planPath}, phase `, `--grep= of ${planPath} as `, '--grep=This reverts commit '];
  const most = `--max-count=${STORE_BOUNDS.planCommits}`;
  const args = ['log', '-z', most, '--fixed-strings', ...grep, format, 'HEAD', '--'];
  const fields = valueOf(await git(args, { cwd: root, reading: true })).text.split('\0');
  const found: PlanCommit[] = [];
  const reverted = new Set<string>();
  for (let at = 0; at + width <= fields.length; at += width) {
    const [commit = '', trailers = '', subject = '', body = ''] = fields.slice(at, at + width);
    for (const [, gone = ''] of body.matchAll(REVERTS)) reverted.add(gone);
    const [, plan, phase, mark] =
      trailers
        .split(',')
        .map((each) => TRAILER.exec(each.trim()) ?? [])
        .find((each) => each.length > 0) ?? [];
    if (plan === undefined || phase === undefined) continue;
    const kind = mark === 'm' ? 'mark' : 'phase';
    found.push({ commit, plan, phase, kind, subject, body, reverted: reverted.has(commit) });
  }
  return found;
}

/** Does the branch hold the commit? */
export async function holdsCommit(root: string, commit: string): Promise<boolean> {
  const args = ['merge-base', '--is-ancestor', commit, 'HEAD'];
  // 128: there is no such commit in the repository any more.
  return valueOf(await git(args, { cwd: root, reading: true, accept: [0, 1, 128] })).code === 0;
}
