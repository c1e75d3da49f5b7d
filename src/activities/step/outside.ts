/** The question whether tests of a base that failed in the sandbox may run outside it, with what a person needs to know for the answer. */
import { shownKey, type StepKey } from '../../shared/ids.js';
import { count } from '../../shared/text.js';
import type { ActivityPorts } from '../frame/ports.js';
import { refusedBySandbox } from './sandbox.js';

const COMMITS_NAMED = 5; // bound: Commits of earlier runs that the question lists. It counts the others.
const COMMITS_FOUND = 100; // bound: Commits of earlier runs that are looked for.
const TITLE_CHARS = 72; // bound: Maximum length of a commit's title in the question.

export interface OutsideQuestion {
  readonly message: string;
  /** The output shows that the sandbox refused something. */
  readonly isRefused: boolean;
}

interface OutsideInput {
  readonly workspace: string;
  readonly stepKey: StepKey;
  /** Path of the file that sets `sandbox`. */
  readonly sandboxFile: string;
}

/** `output`: what the tests printed in the sandbox. */
export async function outsideQuestion(
  { repository, workspace: engine }: Pick<ActivityPorts, 'repository' | 'workspace'>,
  { workspace, stepKey, sandboxFile }: OutsideInput,
  output: string,
): Promise<OutsideQuestion> {
  const refused = refusedBySandbox(output);
  const commits = await repository.runCommits(workspace, COMMITS_FOUND);
  const runs = await engine.earlierRuns(workspace, stepKey);
  const parts = [
    refused === null
      ? 'They ran in the sandbox, and their output does not say that it refused anything'
      : `They ran in the sandbox: ${refused}. To allow that, add the key to \`sandbox:\` in ${sandboxFile} and answer retry`,
    'The answer `outside` runs them once without it, with your home, network and keys',
    commits.length === 0 ? null : commitsText(commits),
    runs.length === 0
      ? null
      : `Earlier runs of Emend worked in this workspace (${runs.map((run) => shownKey(run)).join(', ')}): files that their commands left, also ignored ones, take part`,
  ];
  return { message: parts.filter((part) => part !== null).join('. '), isRefused: refused !== null };
}

function commitsText(commits: readonly { readonly commit: string; readonly subject: string }[]) {
  const named = commits
    .slice(0, COMMITS_NAMED)
    .map(({ commit, subject }) => `${commit.slice(0, 12)} "${subject.slice(0, TITLE_CHARS)}"`);
  const more = commits.length - named.length;
  const orMore = commits.length === COMMITS_FOUND ? ' or more' : '';
  const rest = more > 0 ? ` and ${more}${orMore} more` : '';
  return `The base contains ${count(commits.length, 'commit')}${orMore} of earlier runs of Emend, whose files a model wrote: ${named.join(', ')}${rest}`;
}
