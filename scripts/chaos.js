/** `npm run chaos -- --kills N --seed S`: installs what is missing, builds, then runs test/chaos/main.ts with the arguments given. */
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

const args = [
  '--import',
  join(root, 'scripts', 'typescript.js'),
  join(root, 'test', 'chaos', 'main.ts'),
];
const chaos = spawn(process.execPath, [...args, ...process.argv.slice(2)], {
  cwd: root,
  stdio: 'inherit',
});
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  // It ends its server and workers, then leaves; Ctrl-C in a terminal reaches it directly.
  process.on(signal, () => {
    if (signal !== 'SIGINT' || !process.stdin.isTTY) chaos.kill(signal);
  });
}
chaos.once('exit', (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 0)));
