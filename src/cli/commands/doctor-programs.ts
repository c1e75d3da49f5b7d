/** A check of `emend doctor`: which programs Emend starts itself, and which programs and directories of PATH it skips. */
import {
  learnAround,
  findPrograms,
  isNodeTrusted,
  skippedDirectories,
} from '../../system/programs.js';
import type { Environment } from '../../system/environment.js';
import type { Check } from '../json-types.js';

/** git has a check of its own; the Temporal CLI and bubblewrap also. */
const PROGRAMS = ['git', 'ssh', 'ssh-keygen', 'gpg', 'gh'];

const skippedIn = (env: Environment): readonly string[] => {
  const programs = PROGRAMS.flatMap((name) => findPrograms(name, env).skipped);
  const directories = skippedDirectories(env).filter(
    ({ reason }) => reason !== 'it does not exist',
  );
  const all = [...directories, ...programs].map(
    ({ path, reason }) => `${path === '' ? 'an empty entry of PATH' : path} (${reason})`,
  );
  return [...new Set(all)];
};

/** `cwd` is in the workspace to look at. What is skipped is no fault: it is there for your commands. */
export const programsFinding = (env: Environment, cwd: string): Omit<Check, 'name'> => {
  learnAround(cwd);
  const found = PROGRAMS.map((name) => findPrograms(name, env).paths[0] ?? `no ${name}`);
  const skipped = skippedIn(env);
  const isNodeInside = !isNodeTrusted();
  const node = isNodeInside ? [`${process.execPath} (it is inside a workspace)`] : [];
  const all = [...skipped, ...node];
  return {
    ok: true,
    found: [found.join(', '), ...(all.length === 0 ? [] : [`skipped: ${all.join(', ')}`])].join(
      '; ',
    ),
    fix: isNodeInside
      ? 'Start Emend with a Node.js outside the workspace: a test could replace this one.'
      : null,
  };
};
