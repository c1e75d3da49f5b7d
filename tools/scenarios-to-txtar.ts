/**
 * `node --import ./scripts/typescript.js tools/scenarios-to-txtar.ts`: writes every folder of test/scenarios as one txtar file, reads the file
 * back, compares it with the folder byte for byte, and removes the folder if they are equal.
 */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readTxtar, writeTxtar, type ArchivedFile } from '../test/support/txtar.js';

const FOLDER = 'test/scenarios';
/** In the order in which a case is read: what is asked, what there is, the response, what comes of it. */
const ORDER = ['scenario.json', 'base', 'answer', 'refusal', 'expected'];

const rank = (path: string): number => ORDER.indexOf(path.split('/')[0] ?? '');

function filesOf(folder: string): readonly ArchivedFile[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .map((path) => ({ path: path.slice(folder.length + 1), bytes: readFileSync(path) }))
    .sort((a, b) => rank(a.path) - rank(b.path) || (a.path < b.path ? -1 : 1));
}

let [converted, different] = [0, 0];
for (const entry of readdirSync(FOLDER, { withFileTypes: true })) {
  if (!entry.isDirectory()) continue;
  const folder = join(FOLDER, entry.name);
  const files = filesOf(folder);
  if (files.some(({ path }) => rank(path) < 0)) throw new Error(`an unknown file in ${folder}`);
  writeFileSync(`${folder}.txtar`, writeTxtar(files));
  const again = readTxtar(readFileSync(`${folder}.txtar`, 'utf8'));
  const isEqual =
    again.length === files.length &&
    again.every(({ path, bytes }, i) => path === files[i]?.path && bytes.equals(files[i].bytes));
  if (isEqual) rmSync(folder, { recursive: true });
  converted += 1;
  different += isEqual ? 0 : 1;
}
console.log(`${converted} folders written as txtar files; ${different} differ`);
process.exitCode = different === 0 ? 0 : 1;
