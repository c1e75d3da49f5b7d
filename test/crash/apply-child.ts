/** Applies or rolls back what a JSON file says, with a fault; prints the counted calls and the outcome. */
import { readFileSync } from 'node:fs';
import { createApplyEngine } from '../../src/workspace/apply/engine.js';
import { createBlobStore } from '../../src/stores/directory/blobs.js';
import { storePaths } from '../../src/stores/location.js';
import { realSys } from '../../src/system/sys.js';
import type { ApplyRequest } from '../../src/workspace/ports.js';
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
if (task.noLinks === true)
  base.link = (_, path) => Promise.reject(errnoError('EPERM', 'link', path));
const { sys, names } = shimSys(base, task.plan);
const engine = createApplyEngine({
  home: task.home,
  sys,
  blobs: createBlobStore({ dir: storePaths(task.home).blobs, sys }),
  patience_ms: 300,
});
const outcome = await (task.work === 'recover'
  ? engine.recoverMarked()
  : engine[task.work](task.request));
process.stdout.write(JSON.stringify({ names: names(), outcome }));
