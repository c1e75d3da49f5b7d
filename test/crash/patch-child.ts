/** `emend patch` or `emend undo` in a process of its own that a counted system call kills; prints the calls that it made. */
import { patch } from '../../src/cli/commands/patch.js';
import { undo } from '../../src/cli/commands/undo.js';
import { processIo } from '../../src/cli/io.js';
import { realSys } from '../../src/system/sys.js';
import { shimSys, type ShimPlan } from '../support/sys-shim.js';

const [work = '', workspace = '', answer = '', plan = ''] = process.argv.slice(2);
const { sys, names } = shimSys({ ...realSys }, JSON.parse(plan) as ShimPlan);
Object.assign(realSys, sys);
const io = { ...processIo(), out: () => undefined, err: () => undefined, write: () => undefined };
const exit =
  work === 'patch'
    ? await patch(io, answer, { workspace, format: 'auto' })
    : await undo(io, { workspace });
process.stdout.write(JSON.stringify({ exit, names: names() }));
