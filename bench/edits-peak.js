/** One process, one answer applied to one file: the peak of its memory, for `bench/edits.js`. Arguments: format, answer file, base file. */
import { readFileSync } from 'node:fs';
import { applyAnswer } from '../dist/src/edits/index.js';

const [format, answerPath, basePath] = process.argv.slice(2);
// What Node and the engine's own code take, before either file is read.
const idle = process.memoryUsage.rss();
const bytes = readFileSync(basePath);
const answer = readFileSync(answerPath, 'utf8');
const read = process.memoryUsage.rss();
const outcome = applyAnswer({
  format,
  answer,
  files: new Map([['big.ts', { bytes }]]),
  options: { requireMarker: false },
});
if (outcome.outcome !== 'edited')
  throw new Error(`${format}: ${JSON.stringify(outcome).slice(0, 500)}`);
const peak = process.resourceUsage().maxRSS * 1024;
console.log(JSON.stringify({ idle, read, peak, splices: outcome.splices.get('big.ts').length }));
