/**
 * Which waiting work of several runs the server hands out first. The tasks of a run, the runs of a plan's phases and a run that
 * continues another have the priority of the start (docs/decisions/0049).
 */
import { posix } from 'node:path';
import { slug } from '../shared/text.js';
import { sha256 } from '../system/hash.js';
import type { StartRequest } from './types.js';

/** Lower numbers come first. Temporal's own default is 3, which a run that was typed by hand has. */
const PRIORITY_KEYS: Readonly<Record<StartRequest['kind'], number>> = { job: 3, plan: 4 };
const FAIRNESS_NAME_CHARS = 24; // bound: Characters of the workspace's name in a fairness key. The server takes 64 bytes.
const FAIRNESS_DIGITS = 12; // bound: Hexadecimal digits that tell workspaces of one name apart.

/** Returns the same key for all runs in a workspace or on a repository. */
const fairnessKey = (workspace: string): string => {
  const name = slug(posix.basename(workspace, '.git')).replace(/[^a-z0-9-]/g, '');
  const digits = sha256(workspace).slice(0, FAIRNESS_DIGITS);
  return `${name.slice(0, FAIRNESS_NAME_CHARS)}-${digits}`;
};

export const priorityOf = ({ kind, memo }: Pick<StartRequest, 'kind' | 'memo'>) => ({
  priorityKey: PRIORITY_KEYS[kind],
  fairnessKey: fairnessKey(memo.workspace),
});
