/** Finds out, once for each workspace, whether commands can get an overlay over it, by mounting one. */
import { SANDBOX_ON } from '../../documents/job/index.js';
import type { CommandRunner } from '../commands/index.js';
import type { Layer, LayerRequest } from './layer.js';

const PROBE_S = 20; // bound: Seconds in which a command that does nothing must end on an overlay.
const PROBE_OUTPUT_BYTES = 4_096; // bound: Output of the probe that is read for the reason.

interface Probe {
  readonly commands: CommandRunner;
  readonly use: <T>(request: LayerRequest, work: (layer: Layer) => Promise<T>) => Promise<T>;
}

/** Returns why there can be no overlay over the workspace; null: a command ran on one. */
export async function overlayProblem(
  { commands, use }: Probe,
  workspace: string,
): Promise<string | null> {
  const withoutSandbox = await commands.withoutSandbox();
  if (withoutSandbox !== null) return withoutSandbox;
  try {
    const request = { run: 'probe', workspace, proposal: [], isWarm: false };
    const ran = await use(request, ({ overlay }) =>
      commands.run({
        command: ['/bin/sh', '-c', ':'],
        cwd: workspace,
        env: [],
        timeout_s: PROBE_S,
        maxOutput_bytes: PROBE_OUTPUT_BYTES,
        sandbox: { settings: SANDBOX_ON, workspace, overlay },
      }),
    );
    return ran.exit === 0
      ? null
      : `a command on an overlay ended with ${ran.exit ?? ran.signal ?? 'no exit code'}`;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
