/**
 * `node scripts/measured.js test|test:long RESULT.json…`: writes into scripts/measured.json how long each file took, by what jest wrote with
 * `--json`. scripts/heaviest-first.js deals the files out by it. Both test commands leave their last result in node_modules/.cache.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { fileURLToPath } from 'node:url';
import { testFiles } from './suites.js';

const target = fileURLToPath(new URL('measured.json', import.meta.url));
const [row, ...results] = process.argv.slice(2);
if ((row !== 'test' && row !== 'test:long') || results.length === 0) {
  console.error('Expected: node scripts/measured.js test|test:long RESULT.json…');
  process.exit(2);
}

const present = testFiles();
const { files } = JSON.parse(readFileSync(target, 'utf8'));
for (const { name, startTime, endTime } of results.flatMap(
  (path) => JSON.parse(readFileSync(path, 'utf8')).testResults,
)) {
  // Measured in another clone perhaps: what counts is the path in it.
  const path = present.find((each) =>
    isAbsolute(name) ? name.endsWith(`/${each}`) : name === each,
  );
  if (path !== undefined)
    files[path] = { ...files[path], [row]: Math.round((endTime - startTime) / 100) / 10 };
}
const entry = (columns) =>
  Object.entries(columns)
    .map(([name, seconds]) => `"${name}": ${seconds}`)
    .join(', ');
const lines = present.flatMap((path) =>
  files[path] === undefined ? [] : [`    "${path}": { ${entry(files[path])} }`],
);
writeFileSync(target, `{\n  "files": {\n${lines.join(',\n')}\n  }\n}\n`);
