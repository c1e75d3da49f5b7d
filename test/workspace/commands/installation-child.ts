/** Emend as it is installed in a workspace: runs commands there, one after the other, and prints what each one printed. Arguments: how, home, workspace, commands. */
import { join } from 'node:path';
import { SANDBOX_ON } from '../../../src/documents/job/index.js';
import { createBlobStore } from '../../../src/stores/directory/blobs.js';
import { createLocalRunner, type CommandOutcome } from '../../../src/workspace/commands/index.js';
import { createLayers } from '../../../src/workspace/layers/index.js';

const [how = '', home = '', workspace = '', ...list] = process.argv.slice(2);
const commands = createLocalRunner(process.env, { hidden: [home] });
const blobs = createBlobStore({ dir: join(home, 'blobs') });
const layers = createLayers({ home, blobs, commands });
const request = { cwd: workspace, env: [], timeout_s: 60, maxOutput_bytes: 65_536 };
const box = { settings: SANDBOX_ON, workspace };

const run = (command: string): Promise<CommandOutcome> => {
  if (how === 'off') return commands.run({ ...request, command, sandbox: 'off' });
  if (how === 'boxed') return commands.run({ ...request, command, sandbox: box });
  const layer = { run: 'r1', workspace, proposal: [], isWarm: true };
  return layers.use(layer, ({ overlay }) =>
    commands.run({ ...request, command, sandbox: { ...box, overlay } }),
  );
};
const outputs: string[] = [];
for (const command of list) {
  const { output, exit } = await run(command);
  outputs.push(`${output.trim()} (exit ${exit})`);
}
await layers.remove('r1');
process.stdout.write(JSON.stringify(outputs));
