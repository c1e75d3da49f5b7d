/** Recognizes a CI job of a pull request, and its target branch, by the variables that the CI system documents. Pure. */
import type { Environment } from '../../system/environment.js';

interface System {
  readonly name: string;
  /** Variables with the values that they have in a job of a pull request, and in no other job. One of them is enough. */
  readonly signs: readonly (readonly [variable: string, value: RegExp])[];
  /** Variable with the target branch; null: the system has none. */
  readonly branch: string | null;
}

const ANY = /./;
const NOT_FALSE = /^(?!false$)./;

/** Gitea and Forgejo Actions set the variables of GitHub Actions. */
const SYSTEMS: readonly System[] = [
  {
    name: 'GitHub Actions',
    signs: [['GITHUB_EVENT_NAME', /^pull_request/]],
    branch: 'GITHUB_BASE_REF',
  },
  {
    name: 'GitLab CI',
    signs: [
      ['CI_MERGE_REQUEST_IID', ANY],
      ['CI_MERGE_REQUEST_TARGET_BRANCH_NAME', ANY],
    ],
    branch: 'CI_MERGE_REQUEST_TARGET_BRANCH_NAME',
  },
  {
    name: 'GitLab CI',
    signs: [['CI_EXTERNAL_PULL_REQUEST_IID', ANY]],
    branch: 'CI_EXTERNAL_PULL_REQUEST_TARGET_BRANCH_NAME',
  },
  {
    name: 'Bitbucket Pipelines',
    signs: [['BITBUCKET_PR_ID', ANY]],
    branch: 'BITBUCKET_PR_DESTINATION_BRANCH',
  },
  {
    name: 'Azure Pipelines',
    signs: [
      ['BUILD_REASON', /^PullRequest$/],
      ['SYSTEM_PULLREQUEST_PULLREQUESTID', ANY],
    ],
    branch: 'SYSTEM_PULLREQUEST_TARGETBRANCH',
  },
  { name: 'Jenkins', signs: [['CHANGE_ID', ANY]], branch: 'CHANGE_TARGET' },
  {
    name: 'CircleCI',
    signs: [
      ['CIRCLE_PULL_REQUEST', ANY],
      ['CIRCLE_PR_NUMBER', ANY],
    ],
    branch: null,
  },
  {
    name: 'Buildkite',
    signs: [['BUILDKITE_PULL_REQUEST', NOT_FALSE]],
    branch: 'BUILDKITE_PULL_REQUEST_BASE_BRANCH',
  },
  {
    name: 'Travis CI',
    signs: [['TRAVIS_PULL_REQUEST', NOT_FALSE]],
    branch: 'TRAVIS_BRANCH',
  },
  {
    name: 'Drone',
    signs: [
      ['DRONE_BUILD_EVENT', /^pull_request$/],
      ['DRONE_PULL_REQUEST', ANY],
    ],
    branch: 'DRONE_TARGET_BRANCH',
  },
  {
    name: 'Woodpecker',
    signs: [
      ['CI_PIPELINE_EVENT', /^pull_request/],
      ['CI_COMMIT_PULL_REQUEST', ANY],
    ],
    branch: 'CI_COMMIT_TARGET_BRANCH',
  },
  {
    name: 'AppVeyor',
    signs: [['APPVEYOR_PULL_REQUEST_NUMBER', ANY]],
    branch: 'APPVEYOR_REPO_BRANCH',
  },
];

export type PullRequest =
  | { readonly branch: string }
  /** The target branch is not known. */
  | { readonly branch: null; readonly reason: string };

/** Returns the pull request of this CI job; null: the job is for none. */
export function pullRequestOf(env: Environment): PullRequest | null {
  const system = SYSTEMS.find(({ signs }) =>
    signs.some(([variable, value]) => value.test(env[variable] ?? '')),
  );
  if (system === undefined) return null;
  const { name, branch: variable } = system;
  if (variable === null)
    return { branch: null, reason: `${name} has no variable with the target branch` };
  // Azure Pipelines documents the whole name of the ref.
  const branch = (env[variable] ?? '').replace(/^refs\/heads\//, '');
  return branch === '' ? { branch: null, reason: `${variable} of ${name} is empty` } : { branch };
}
