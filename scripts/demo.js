/** `npm run demo`: installs what is missing, builds, then runs demo/run.js with the arguments given (`--yes` answers for you). */
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
const demo = spawn(process.execPath, [join(root, 'demo', 'run.js'), ...process.argv.slice(2)], { stdio: 'inherit' });
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => {
    if (signal !== 'SIGINT' || !process.stdin.isTTY) demo.kill(signal);
  });
}
demo.once('exit', (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 0)));
