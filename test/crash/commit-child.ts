/** Commits what a JSON file says, with a fault; prints the counted calls and the outcome. */
import { readFileSync } from 'node:fs';
import { createCommitter } from '../../src/workspace/git/commit.js';
import { createBlobStore } from '../../src/stores/directory/blobs.js';
import { realSys } from '../../src/system/sys.js';
import type { CommitRequest } from '../../src/workspace/ports.js';
import { hookPorts } from '../workspace/git-fixture.js';
import { errnoError, shimSys, type ShimPlan } from '../support/sys-shim.js';

export interface CommitTask {
  readonly blobs: string;
  readonly request: CommitRequest;
  readonly plan: ShimPlan;
  /** The filesystem has no hard links. */
  readonly noLinks: boolean;
}

const task = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as CommitTask;
const base = { ...realSys };
if (task.noLinks) base.link = (_, path) => Promise.reject(errnoError('EPERM', 'link', path));
const { sys, names } = shimSys(base, task.plan);
const commit = createCommitter({
  blobs: createBlobStore({ dir: task.blobs, sys: realSys }),
  ...hookPorts(),
  lockWait_ms: 300,
  sys,
});
process.stdout.write(JSON.stringify({ outcome: await commit(task.request), names: names() }));
