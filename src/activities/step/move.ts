/** May a run whose host is gone go on here? Its files must be as it read them, on the commit that it is based on. */
import { getJson } from '../../stores/ports.js';
import { orNull } from '../../system/durable.js';
import { shellWord } from '../../shared/text.js';
import { realSys } from '../../system/sys.js';
import { ProblemError } from '../../shared/problems.js';
import { readJobBytes } from '../../workspace/documents/index.js';
import type { Proposal } from '../../workspace/proposal.js';
import type { Activity } from '../frame/activity.js';
import { getSnapshot } from './snapshot.js';

const NAMED = 5; // bound: Files that a refused move names.

export const checkMove: Activity<'checkMove'> = async ({ blobs, ...ports }, input) => {
  const { workspace, commit, snapshot, proposal } = input;
  const toBase = `git -C ${shellWord(workspace)} checkout ${commit ?? 'HEAD'}`;
  const isDirectory = input.repository === undefined;
  if (isDirectory) {
    const real = await orNull(realSys.realpath(workspace), ['ENOENT', 'ENOTDIR', 'EACCES']);
    if (real !== workspace)
      return { why: `${workspace} is not the real path of a directory of this host.` };
    if (commit !== null && !(await ports.repository.holds(workspace, commit)))
      return {
        why: `The branch of ${workspace} does not hold ${commit}, the base of the run. Type: ${toBase}`,
      };
    const whyNoJob = input.unreadJob === null ? null : await lacksJob(workspace, input.unreadJob);
    if (whyNoJob !== null) return { why: whyNoJob };
  }
  const targets = snapshot === null ? [] : (await getSnapshot(blobs, snapshot)).targets;
  const proposed =
    proposal === null ? [] : (await getJson<Proposal>(blobs, proposal, 'proposal')).files;
  const wanted = new Map([...targets, ...proposed].map(({ path, base }) => [path, base]));
  const files = [...wanted].map(([path, result]) => ({ path, result }));
  // The same bytes will do: of a file's mode two hosts may differ.
  const differing = await ports.workspace.differing(workspace, files);
  const found = differing.filter(({ result, now }) => result?.ref !== now?.ref);
  if (found.length === 0) return { why: null };
  const named = found.slice(0, NAMED).map(({ path }) => path);
  const back = found
    .flatMap(({ path, result }) => (result === null ? [] : shellWord(path)))
    .slice(0, NAMED);
  const type = commit === null || back.length === 0 ? '' : `: ${toBase} -- ${back.join(' ')}`;
  const [where, next] = isDirectory
    ? [workspace, ` Restore them first${type}`]
    : [`commit ${commit ?? ''}`, ''];
  const what = `${found.length} of ${files.length} files in ${where}`;
  return { why: `${what} are not as the run read them: ${named.join(', ')}.${next}` };
};

/** Returns why the run, which has not read its job yet, could not read it in this workspace; null: it could. */
const lacksJob = async (workspace: string, jobPath: string): Promise<string | null> => {
  try {
    await readJobBytes(workspace, jobPath);
    return null;
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error;
    return `The run has not read its job yet, and cannot read it in ${workspace}: ${error.problem.message} Copy the file there first.`;
  }
};
