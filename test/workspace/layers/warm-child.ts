/** Runs a command on a warm layer in a process of its own, prints a line when it has the layer, and waits to be killed. */
import { join } from 'node:path';
import { SANDBOX_ON } from '../../../src/documents/job/index.js';
import { createBlobStore } from '../../../src/stores/directory/blobs.js';
import { createLocalRunner } from '../../../src/workspace/commands/index.js';
import { createLayers } from '../../../src/workspace/layers/index.js';

const [base = ''] = process.argv.slice(2);
const home = join(base, 'home');
const workspace = join(base, 'workspace');
const commands = createLocalRunner(process.env);
const blobs = createBlobStore({ dir: join(home, 'blobs') });
const layers = createLayers({ home, blobs, commands });
await layers.use({ run: 'r1', workspace, proposal: [], isWarm: true }, ({ overlay }) => {
  process.stdout.write('taken\n');
  return commands.run({
    command: 'echo 2 > two.o; sleep 60',
    cwd: workspace,
    env: [],
    timeout_s: 60,
    maxOutput_bytes: 1_000,
    sandbox: { settings: SANDBOX_ON, workspace, overlay },
  });
});
