/** `npm run exam:model -- …`: test/exam/model/main.ts with the arguments given. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { root } from './install.js';

const args = [
  '--import',
  join(root, 'scripts', 'typescript.js'),
  join(root, 'test', 'exam', 'model', 'main.ts'),
];
const child = spawn(process.execPath, [...args, ...process.argv.slice(2)], { stdio: 'inherit' });
// It ends its server and its worker first; a terminal has sent it the signal already.
process.on('SIGINT', () => undefined);
process.on('SIGTERM', () => child.kill('SIGTERM'));
child.once('exit', (code) => {
  process.exitCode = code ?? 1;
});
