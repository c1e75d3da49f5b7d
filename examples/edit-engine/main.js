// @ts-check
/**
 * Applies a model's answer to a file, all of it or nothing. No server, no model.
 *
 *     node main.js FILE ANSWER
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { applyAnswer, combinedDiff, detectFormat, renderReasons } from 'emend/edits';
import { loadSyntax } from 'emend/syntax';

const [path = '', answerPath = ''] = process.argv.slice(2);
const bytes = readFileSync(path);
const answer = readFileSync(answerPath, 'utf8');

const applied = applyAnswer({
  format: detectFormat(answer) ?? 'unified-diff',
  answer,
  files: new Map([[path, { bytes }]]),
  // Only answers to prompts of Emend's end with its marker. Without one, a cut-off answer may look whole.
  options: { requireMarker: false, syntax: await loadSyntax([path]) },
});

if (applied.outcome === 'edited') {
  const file = applied.files.get(path);
  if (file !== undefined && file !== 'absent') {
    console.log(combinedDiff([{ path, base: bytes, result: file.bytes }]));
    writeFileSync(path, file.bytes);
  }
} else {
  console.error(`${applied.outcome}: nothing was written.\n${renderReasons(applied.reasons)}`);
  process.exitCode = 1;
}
