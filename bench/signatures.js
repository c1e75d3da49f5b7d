/**
 * What preflight takes more for the files round those to edit (`context: { signatures }`): looks round one file, cold with no outline
 * kept and in a fresh process, then warm. Run `npm run build` first, then: node bench/signatures.js REPO FILE "task" [--text]
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { performance } from 'node:perf_hooks';
import { createEditRunner } from '../dist/src/activities/frame/edit-worker.js';
import { findSignatures } from '../dist/src/activities/step/find.js';
import { showSignatures } from '../dist/src/model/prompts/index.js';
import { createRecordStore } from '../dist/src/stores/index.js';
import { listWorkspaceFiles } from '../dist/src/workspace/files/index.js';

const TIMES = 5;
const [repo = '.', path = '', task = ''] = process.argv.slice(2);
const root = resolve(repo);
const dir = mkdtempSync(join(tmpdir(), 'emend-signatures-'));
try {
  let kept = '{}';
  const blobs = {
    get: async () => readFileSync(join(root, path)),
    put: async (bytes) => {
      kept = Buffer.from(bytes).toString();
      return 'sha256:0';
    },
  };
  const ports = { blobs, edits: createEditRunner(), records: createRecordStore({ dir }) };
  const { files } = await listWorkspaceFiles(root);
  const targets = [{ path, base: { ref: 'sha256:0', mode: 0o644 } }];
  const took = [];
  for (let time = 0; time <= TIMES; time += 1) {
    const from = performance.now();
    await findSignatures(
      ports,
      { root, files, task },
      targets,
      new globalThis.AbortController().signal,
    );
    took.push(Math.round(performance.now() - from));
  }
  const { text, files: shown, omitted } = showSignatures(JSON.parse(kept)[path] ?? [], [path]);
  const [cold, ...warm] = took;
  const median = warm.sort((a, b) => a - b)[Math.floor(TIMES / 2)];
  const tokens = shown.reduce((sum, file) => sum + file.tokens, 0);
  console.log(`${files.length} files: cold ${cold} ms, warm ${median} ms (most ${warm.at(-1)})`);
  console.log(`${shown.length} files shown, ${tokens} tokens; ${omitted.length} did not fit`);
  if (process.argv.includes('--text')) console.log(text);
} finally {
  rmSync(dir, { recursive: true });
}
