/**
 * Runs scenarios on warm layers as whatever user it is: reads one scenario a line, and prints a line of what it observed for each. Arguments:
 * the home and the workspace.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { SANDBOX_ON } from '../../../src/documents/job/index.js';
import { createBlobStore } from '../../../src/stores/directory/blobs.js';
import { createLocalRunner } from '../../../src/workspace/commands/index.js';
import { createLayers, layersDir, type Layer } from '../../../src/workspace/layers/index.js';
import type { ExpectedFile } from '../../../src/workspace/ports.js';
import type { Scenario } from './scenarios.js';

/** What the last command of a run saw, and what the run left. */
export interface Observation {
  readonly status: string;
  readonly dependencies: string;
  /** Paths that the commands changed in their layers. */
  readonly changed: readonly string[];
  readonly written: readonly string[];
  /** Directories of the run in the home, before and after its removal. */
  readonly remaining: readonly string[];
  readonly remainingAtEnd: readonly string[];
  readonly error: string | null;
}

/** Prints what the command sees of the repository: what is changed, and the bytes of its dependencies. */
const LOOK =
  'git status --porcelain --untracked-files=all 2>&1; echo ---; find node_modules .venv -type f -exec sha256sum {} + | sort';

const [home = '', workspace = ''] = process.argv.slice(2);
const commands = createLocalRunner(process.env, { hidden: [home] });
const blobs = createBlobStore({ dir: join(home, 'blobs') });
const layers = createLayers({ home, blobs, commands });
const entries = (dir: string): readonly string[] => {
  try {
    return readdirSync(dir);
  } catch {
    return [];
  }
};

async function proposalOf(scenario: Scenario): Promise<ExpectedFile[]> {
  const files: ExpectedFile[] = [];
  for (const [path, text] of Object.entries(scenario.proposal)) {
    const result = text === null ? null : { ref: await blobs.put(Buffer.from(text)), mode: 0o644 };
    files.push({ path, result });
  }
  return files;
}

async function observe(scenario: Scenario): Promise<Observation> {
  const run = `r${scenario.seed}`;
  const proposal = await proposalOf(scenario);
  const changed: string[] = [];
  const written: string[] = [];
  const onLayer = (command: string, use: (layer: Layer) => Promise<unknown>) =>
    layers.use({ run, workspace, proposal, isWarm: true }, async (layer) => {
      const ran = await commands.run({
        command,
        cwd: workspace,
        env: [],
        timeout_s: 5,
        maxOutput_bytes: 65_536,
        sandbox: { settings: SANDBOX_ON, workspace, overlay: layer.overlay },
      });
      await use(layer);
      return ran.output;
    });
  for (const command of scenario.commands)
    await onLayer(command, async (layer) => {
      changed.push(...(await layer.changes()).map(({ path }) => path));
      const except = proposal.map(({ path }) => path);
      const result = await layer.writeOut({ paths: ['report'], except, protectedPatterns: [] });
      written.push(...result.written, ...result.removed);
    });
  const output = await onLayer(LOOK, () => Promise.resolve());
  const [status = '', dependencies = ''] = output.split('---\n');
  const remaining = entries(join(layersDir(home), run));
  await layers.remove(run);
  const remainingAtEnd = entries(layersDir(home));
  return { status, dependencies, changed, written, remaining, remainingAtEnd, error: null };
}

for await (const line of createInterface({ input: process.stdin })) {
  const empty = {
    status: '',
    dependencies: '',
    changed: [],
    written: [],
    remaining: [],
    remainingAtEnd: [],
  };
  const observation = await observe(JSON.parse(line) as Scenario).catch(
    (error: unknown): Observation => ({
      ...empty,
      error: error instanceof Error ? (error.stack ?? error.message) : String(error),
    }),
  );
  process.stdout.write(`${JSON.stringify(observation)}\n`);
}
