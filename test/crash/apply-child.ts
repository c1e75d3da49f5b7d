/** Applies or rolls back what a JSON file says, with a fault; prints the counted calls and the outcome. */
import { readFileSync } from 'node:fs';
import { createApplyEngine } from '../../src/workspace/apply.js';
import { createBlobStore } from '../../src/workspace/blob-store.js';
import { storePaths } from '../../src/workspace/store.js';
import { realSys } from '../../src/workspace/sys.js';
import type { ApplyRequest } from '../../src/workspace/types.js';
import { errnoError, shimSys, type ShimPlan } from '../support/sys-shim.js';

export interface ChildTask {
  readonly home: string;
  readonly request: ApplyRequest;
  readonly work: 'apply' | 'rollback' | 'recover';
  readonly plan: ShimPlan;
  /** The filesystem has no hard links. */
  readonly noLinks?: boolean;
}

const task = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as ChildTask;
const base = { ...realSys };
if (task.noLinks === true) base.link = (_, path) => Promise.reject(errnoError('EPERM', 'link', path));
const { sys, names } = shimSys(base, task.plan);
const engine = createApplyEngine({
  home: task.home,
  sys,
  blobs: createBlobStore({ dir: storePaths(task.home).blobs, sys }),
  patience_ms: 300,
});
const outcome = await (task.work === 'recover' ? engine.recover() : engine[task.work](task.request));
process.stdout.write(JSON.stringify({ names: names(), outcome }));
