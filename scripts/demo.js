/**
 * `npm run demo` and `npm run demo:plan`: installs what is missing, builds, then runs demo/run.js (`plan` as the first argument:
 * demo/plan.js) with the other arguments.
 */
import { constants } from 'node:os';
import { join } from 'node:path';
import { spawn } from 'node:child_process';
import { build } from './build.js';
import { ensureInstalled, root } from './install.js';
import { endWithSignals } from './processes.js';

const handleSignalsAlone = endWithSignals();
await ensureInstalled();
await build();
handleSignalsAlone();

// In our process group, because it reads from the terminal: Ctrl-C reaches it directly, and we stay until it has cleaned up.
const [first, ...rest] = process.argv.slice(2);
const program = first === 'plan' ? ['plan.js', ...rest] : ['run.js', ...process.argv.slice(2)];
const [file, ...args] = program;
const demo = spawn(process.execPath, [join(root, 'demo', file), ...args], { stdio: 'inherit' });
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => {
    if (signal !== 'SIGINT' || !process.stdin.isTTY) demo.kill(signal);
  });
}
demo.once('exit', (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 0)));
