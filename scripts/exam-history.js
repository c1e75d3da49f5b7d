/** `npm run exam:history -- REPO --count N`: test/exam/history/main.ts with the arguments given. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { root } from './install.js';

const args = [
  '--import',
  join(root, 'scripts', 'typescript.js'),
  join(root, 'test', 'exam', 'history', 'main.ts'),
];
process.exitCode =
  spawnSync(process.execPath, [...args, ...process.argv.slice(2)], { stdio: 'inherit' }).status ??
  1;
