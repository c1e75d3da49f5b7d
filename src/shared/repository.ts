/** A repository that is nobody's working tree: each host makes the checkout that it needs, from a base commit and the store. */
import { shellWord } from './text.js';

export interface RepositoryBase {
  /** As git takes it, without a password. */
  readonly url: string;
  /** The name of a branch, or the whole id of a commit. */
  readonly base: string;
  /** What it pushes to with others: a plan's, where its phases begin at its tip, or that of the run which this one follows. Absent: its own, which its one commit makes. */
  readonly branch?: string;
}

export const URL_WORDS = 'https://, http://, ssh://, git://, file:/// or USER@HOST:PATH';
const MOST_CHARS = 1_000; // bound: Of the URL of a repository, and of the name of its branch.

/** What was expected of the URL instead; null: git may have it. Nothing in it is an option, a command, or a secret. */
export function urlFault(url: string): string | null {
  const remote =
    /^(?:(https?|git|ssh):\/\/(?:([^@/]*)@)?[a-z\d[][^@/\s]*\/|file:\/\/\/)[^\s\p{Cc}]+$/iu.exec(
      url,
    );
  const short = /^[\w.]+@[a-z\d][\w.-]*:[^\s\p{Cc}:-][^\s\p{Cc}]*$/iu.test(url);
  if (url.includes(' ')) return 'a URL with %20 in place of each blank';
  if (url.length > MOST_CHARS || (remote === null && !short))
    return `a repository's URL: ${URL_WORDS}`;
  const [, scheme = '', user = ''] = remote ?? [];
  return user.includes(':') ||
    (user !== '' && scheme.toLowerCase() !== 'ssh') ||
    user.startsWith('-')
    ? 'a URL without a user or password: git asks its credential helper for them'
    : null;
}

/** What shows a commit where a person is; one that was pushed, in any clone. */
export const showCommit = (commit: string, workspace: string): string => {
  const show = `git show ${commit.slice(0, 12)}`;
  if (urlFault(workspace) !== null) return show;
  return `git fetch ${shellWord(workspace)} '+refs/heads/emend/*:refs/remotes/emend/*' && ${show}`;
};

export const isCommitId = (base: string): boolean => /^(?:[\da-f]{40}|[\da-f]{64})$/.test(base);

/** As git's check-ref-format, of a branch. */
export const isBase = (base: string): boolean =>
  base.length <= MOST_CHARS &&
  /^(?![-/.])(?!.*(?:\.\.|\/\/|\/\.|@\{|\.lock(?:\/|$)))[^\s\p{Cc}~^:?*[\\]*[^\s\p{Cc}~^:?*[\\/.]$/u.test(
    base,
  ) &&
  base !== '@';

/** What a run pushes to, and what fences it: whoever takes the run over moves the token first, and each push expects it. */
export const branchOf = (stepKey: string): string => `emend/${stepKey.slice(0, 16)}`;
/** Of a plan's phase that runs beside others, by the name of its worktree: `p2-1`. */
export const phaseBranchOf = (plan: string, name: string): string => `${branchOf(plan)}-${name}`;
export const tokenRef = (stepKey: string): string => `refs/emend/token/${stepKey}`;
