/** `emend plan expand|collapse` in a process of its own that a counted system call kills; prints the calls that it made. */
import { collapse, expand } from '../../src/cli/commands/plan-edit.js';
import { processIo } from '../../src/cli/io.js';
import { realSys } from '../../src/system/sys.js';
import { shimSys, type ShimPlan } from '../support/sys-shim.js';

const [verb = '', kind = '', path = '', number = '', plan = ''] = process.argv.slice(2);
const { sys, names } = shimSys({ ...realSys }, JSON.parse(plan) as ShimPlan);
Object.assign(realSys, sys);
const io = { ...processIo(), out: () => undefined, err: () => undefined, write: () => undefined };
const exit = await (verb === 'expand' ? expand : collapse)(
  io,
  kind === 'stage' ? kind : 'phase',
  path,
  number,
  {},
);
process.stdout.write(JSON.stringify({ exit, names: names() }));
