/** Runs a command on a layer in a process of its own, until that is killed. */
import { SANDBOX_ON } from '../../../src/documents/job/index.js';
import { createBlobStore } from '../../../src/stores/directory/blobs.js';
import { createLocalRunner } from '../../../src/workspace/commands/index.js';
import { createLayers } from '../../../src/workspace/layers/index.js';

const [workspace = '', command = ''] = process.argv.slice(2);
const home = process.env.EMEND_HOME ?? '';
const commands = createLocalRunner(process.env, { hidden: [home] });
const layers = createLayers({ home, blobs: createBlobStore({ dir: `${home}/blobs` }), commands });
await layers.use({ run: 'run', workspace, proposal: [], isWarm: false }, ({ overlay }) =>
  commands.run({
    command,
    cwd: workspace,
    env: [],
    timeout_s: 600,
    maxOutput_bytes: 1_000,
    sandbox: { settings: SANDBOX_ON, workspace, overlay },
  }),
);
