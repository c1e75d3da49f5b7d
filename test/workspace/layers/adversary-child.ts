/** Runs commands one after the other on the layers of one run, as whatever user it is, and prints what each one printed. Arguments: home, workspace, commands. */
import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { SANDBOX_ON } from '../../../src/documents/job/index.js';
import { createBlobStore } from '../../../src/stores/directory/blobs.js';
import { createLocalRunner } from '../../../src/workspace/commands/index.js';
import { createLayers, layersDir } from '../../../src/workspace/layers/index.js';

export interface Observation {
  readonly outputs: readonly string[];
  /** Mode of the directory that holds the run's layers. */
  readonly mode: number;
}

const [home = '', workspace = '', ...list] = process.argv.slice(2);
const commands = createLocalRunner(process.env, { hidden: [home] });
const blobs = createBlobStore({ dir: join(home, 'blobs') });
const layers = createLayers({ home, blobs, commands });
const outputs: string[] = [];
for (const command of list) {
  const request = { run: 'r1', workspace, proposal: [], isWarm: true };
  const ran = await layers.use(request, ({ overlay }) =>
    commands.run({
      command,
      cwd: workspace,
      env: [],
      timeout_s: 60,
      maxOutput_bytes: 65_536,
      sandbox: { settings: SANDBOX_ON, workspace, overlay },
    }),
  );
  outputs.push(`${ran.output.trim()} (exit ${ran.exit})`);
}
const { mode } = lstatSync(layersDir(home));
await layers.remove('r1');
process.stdout.write(JSON.stringify({ outputs, mode: mode & 0o777 } satisfies Observation));
