/** `npm run exam:guards -- REPO --count N`: test/exam/guards/main.ts with the arguments given. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { root } from './install.js';

const args = [
  '--import',
  join(root, 'scripts', 'typescript.js'),
  join(root, 'test', 'exam', 'guards', 'main.ts'),
];
process.exitCode =
  spawnSync(process.execPath, [...args, ...process.argv.slice(2)], { stdio: 'inherit' }).status ??
  1;
