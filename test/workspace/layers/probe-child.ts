/** For each line of input runs it in a shell, then prints as JSON why there can be no overlay. */
import { execFileSync } from 'node:child_process';
import { createInterface } from 'node:readline';
import { createLocalRunner } from '../../../src/workspace/commands/index.js';
import { createLayers } from '../../../src/workspace/layers/index.js';
import { createBlobStore } from '../../../src/stores/directory/blobs.js';

const [home = '', workspace = ''] = process.argv.slice(2);
const layers = createLayers({
  home,
  blobs: createBlobStore({ dir: `${home}/blobs` }),
  commands: createLocalRunner(process.env, { hidden: [home] }),
});
for await (const line of createInterface({ input: process.stdin })) {
  execFileSync('sh', ['-c', line]);
  process.stdout.write(`${JSON.stringify(await layers.problem(workspace))}\n`);
}
