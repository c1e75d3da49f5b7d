/**
 * `emend patch` or `emend undo` in a process of its own that a counted system call kills. It prints the calls that it made, and the number of the first
 * call that takes a file of the workspace aside.
 */
import { patch } from '../../src/cli/commands/patch.js';
import { undo } from '../../src/cli/commands/undo.js';
import { processIo } from '../../src/cli/io.js';
import { realSys } from '../../src/system/sys.js';
import { shimSys, type ShimPlan } from '../support/sys-shim.js';

const [work = '', workspace = '', answer = '', plan = ''] = process.argv.slice(2);
const { sys, names, stepsAbout } = shimSys({ ...realSys }, JSON.parse(plan) as ShimPlan);
Object.assign(realSys, sys);
const io = { ...processIo(), out: () => undefined, err: () => undefined, write: () => undefined };
const exit =
  work === 'patch'
    ? await patch(io, answer, { workspace, format: 'auto' })
    : await undo(io, { workspace });
const inWorkspace = stepsAbout((path) => path.startsWith(`${workspace}/`));
const aside = inWorkspace.find((number) => names()[number - 1] === 'rename');
process.stdout.write(JSON.stringify({ exit, names: names(), aside }));
