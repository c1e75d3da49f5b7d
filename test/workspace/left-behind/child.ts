/** Commits or formats in a process of its own, so that a test can do it as another user. Prints the outcomes as JSON. */
import { formatted } from '../../../src/activities/step/format.js';
import type { ActivityPorts } from '../../../src/activities/frame/ports.js';
import type { ActivityScope } from '../../../src/activities/frame/activity.js';
import type { Snapshot } from '../../../src/activities/step/snapshot.js';
import { SANDBOX_ON } from '../../../src/documents/job/index.js';
import { ProblemError } from '../../../src/shared/problems.js';
import { createCommitter } from '../../../src/workspace/git/commit.js';
import type { Layers } from '../../../src/workspace/layers/index.js';
import { Blobs, Repo, requestFor } from '../git-fixture.js';
import { workspacePorts } from '../../support/workspace-ports.js';

export interface LeftBehindTask {
  readonly home: string;
  readonly workspace: string;
  /** The formatter; null: a commit with the hooks of the repository. */
  readonly formatCommand: string | null;
  readonly hasOverlay: boolean;
}

const blobs = new Blobs();
const file = blobs.file('a.js', 'old\n', 'new\n');

const portsFor = ({ home, hasOverlay }: LeftBehindTask) => {
  const ports = workspacePorts(home, blobs);
  const problem = () => Promise.resolve('there is none in this test');
  const layers: Layers = hasOverlay ? ports.layers : { ...ports.layers, problem };
  return { ...ports, layers };
};

const commit = async (task: LeftBehindTask) => {
  const { commands, layers } = portsFor(task);
  const more = { hooks: true, sandbox: SANDBOX_ON };
  const request = await requestFor(new Repo(task.workspace), [file], more);
  return createCommitter({ blobs, commands, layers })(request);
};

const format = async (task: LeftBehindTask) => {
  const { workspace, formatCommand } = task;
  const config = { formatCommand, env: [], sandbox: SANDBOX_ON, protected: [] };
  const snapshot = {
    stepKey: 'step',
    workspace,
    config,
    targets: [],
  } as unknown as Snapshot;
  const result = await formatted(
    portsFor(task) as unknown as ActivityPorts,
    { snapshot, changes: [{ ...file, by: 'model' } as never], sandbox: undefined },
    { signal: new AbortController().signal } as ActivityScope,
  );
  if ('outcome' in result) return result;
  const [change] = result.changes;
  const bytes = change?.result == null ? null : await blobs.get(change.result.ref);
  return { outcome: 'formatted', text: bytes === null ? null : Buffer.from(bytes).toString() };
};

const outcomes = [];
for (const task of JSON.parse(process.argv[2] ?? '') as readonly LeftBehindTask[]) {
  const work = task.formatCommand === null ? commit(task) : format(task);
  const outcome = await work.catch((error: unknown) => {
    if (error instanceof ProblemError) return { outcome: 'failed', problem: error.problem };
    throw error;
  });
  outcomes.push(outcome);
}
process.stdout.write(JSON.stringify(outcomes));
