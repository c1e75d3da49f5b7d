/**
 * `npm run bench:hostile`: what answers that were made to hurt cost the edit engine: time, and the peak of memory over the answer's own
 * size. Each runs in a process of its own. Exit code 0 means measured; an answer that is used ends the run.
 */
import { execFileSync } from 'node:child_process';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { applyAnswer } from '../dist/src/edits/index.js';
import { shown } from './numbers.js';

const MB = 1_000_000;
const edit = JSON.stringify({ type: 'delete', file_path: 'a.js', start_line: 1, end_line: 1 });
const odd = JSON.stringify({ operation: 'delete', start_line: 1, end_line: 1 });
const operations = (one) => `{"operations":[${`${one},`.repeat(MB - 1)}${one}]}`;
const CASES = {
  '200 MB, one line': ['whole-file', () => 'a'.repeat(200 * MB)],
  '200 MB, a whole file without its end': [
    'whole-file',
    () => `FILE a.js\n${'abc\n'.repeat(50 * MB)}`,
  ],
  '200 MB, one JSON string': [
    'structured-edit',
    () => `{"operations":[{"type":"append","file_path":"a.js","content":"${'x'.repeat(200 * MB)}`,
  ],
  '200 MB of empty lines': ['unified-diff', () => '\n'.repeat(200 * MB)],
  '1,000,000 operations on one line': ['structured-edit', () => operations(edit)],
  '1,000,000 operations without a type': ['structured-edit', () => operations(odd)],
  '1,000,000 blocks': [
    'search-replace',
    () => `FILE a.js\n${'FIND:\nnowhere\nREPLACE:\ny\nEND\n'.repeat(MB)}END FILE\n`,
  ],
  '1,000,000 hunks': [
    'unified-diff',
    () => `--- a/a.js\n+++ b/a.js\n${'@@ -1,1 +1,1 @@\n-nowhere\n+y\n'.repeat(MB)}`,
  ],
  '1,000,000 files': [
    'unified-diff',
    () => '--- a/b.js\n+++ b/b.js\n@@ -1,1 +1,1 @@\n-x\n+y\n'.repeat(MB),
  ],
  '1,000,000 brackets deep': ['structured-edit', () => '['.repeat(MB) + ']'.repeat(MB)],
  '10,000,000 backslashes in a string': [
    'structured-edit',
    () => `{"operations":"${'\\'.repeat(10 * MB)}"}`,
  ],
  '2,000,000 fences': ['whole-file', () => '```\n'.repeat(2 * MB)],
  '50,000 blocks for paths that are nowhere': [
    'search-blocks',
    () =>
      Array.from(
        { length: 50_000 },
        (_, i) => `src/b${i}.ts\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n`,
      ).join(''),
  ],
  '10,000,000 opening lines': ['search-replace', () => 'FILE a.js\n'.repeat(10 * MB)],
};

const one = (name) => {
  const [format, make] = CASES[name];
  const idle = process.memoryUsage.rss();
  // As read from a socket or a file: one flat text.
  const answer = Buffer.from(make()).toString('latin1');
  const bytes = Buffer.from('one\ntwo\nthree\n');
  globalThis.gc();
  const from = performance.now();
  const beside = Array.from({ length: 20_000 }, (_, i) => `src/file${i}.ts`);
  const options = { requireMarker: false, beside };
  const { outcome, reasons } = applyAnswer({
    format,
    answer,
    files: new Map([['a.js', { bytes }]]),
    options,
  });
  const ms = performance.now() - from;
  if (outcome === 'edited') throw new Error(`${name} was used`);
  const peak = process.resourceUsage().maxRSS * 1024;
  const reason = reasons?.[0]?.code ?? '';
  return { size: answer.length, ms, above: (peak - idle) / answer.length, outcome, reason };
};

const [wanted] = process.argv.slice(2);
if (wanted !== undefined) console.log(JSON.stringify(one(wanted)));
else {
  console.log(
    '| answer | format | size | outcome | time | peak memory beyond an idle Node, over the answer |',
  );
  console.log('|---|---|---|---|---|---|');
  for (const [name, [format]] of Object.entries(CASES)) {
    const args = ['--expose-gc', fileURLToPath(import.meta.url), name];
    const { size, ms, above, outcome, reason } = JSON.parse(
      String(execFileSync(process.execPath, args)),
    );
    const cells = [
      name,
      format,
      `${shown(size / MB, 0)} MB`,
      `${outcome} ${reason}`,
      `${shown(ms / 1_000)} s`,
    ];
    console.log(`| ${[...cells, shown(above, 1)].join(' | ')} |`);
  }
}
