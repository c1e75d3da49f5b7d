/**
 * The configured formatter, on a scratch copy: only its bytes count, and it never sees the workspace's own files. In it the files of the
 * proposal are new, but for those that a tool might run or load: these have their base bytes, and are not formatted.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { STORE_BOUNDS } from '../../shared/bounds.js';
import type { Finding } from '../../shared/formats.js';
import { whyProtected } from '../../documents/job/index.js';
import { fail } from '../../shared/problems.js';
import type { NoSandbox, SandboxChoice } from '../../shared/proposal-activities.js';
import { readGiven } from '../../system/given-file.js';
import { withScratch } from '../../system/scratch.js';
import { COMMANDS, commandTurn, together } from '../../system/turns.js';
import type { FileChange } from './accepted.js';
import type { ActivityScope } from '../frame/activity.js';
import type { ActivityPorts } from '../frame/ports.js';
import { boxFor, isNoSandbox, sandboxFor } from './sandbox.js';
import type { Snapshot } from './snapshot.js';

export interface Formatting {
  readonly snapshot: Snapshot;
  readonly changes: readonly FileChange[];
  readonly sandbox: SandboxChoice | undefined;
}
type Formatted = { readonly changes: readonly FileChange[]; readonly findings: readonly Finding[] };

export async function formatted(
  ports: ActivityPorts,
  { snapshot, changes, sandbox }: Formatting,
  { signal }: ActivityScope,
): Promise<Formatted | NoSandbox> {
  const { formatCommand: command, env, sandbox: settings } = snapshot.config;
  if (command === null) return { changes, findings: [] };
  const whyRun = whyProtected(snapshot.config.protected);
  const wanted = changes.filter(({ result, path }) => result !== null && whyRun(path) === null);
  const left = changes.filter(({ result, path }) => result !== null && whyRun(path) !== null);
  if (wanted.length === 0) return { changes, findings: [] };
  const workspace = await ports.workspace.root(snapshot.workspace);
  const box = await boxFor(ports, sandboxFor(settings, sandbox), workspace);
  if (isNoSandbox(box)) return box;
  // In the sandbox they lie where they belong, beside the tools' own configuration; what is written there is dropped.
  const inPlace = box !== 'off';
  const run = command.replaceAll('{file}', '"$1"').replaceAll('{files}', '"$@"');
  const copies = 'for f; do mkdir -p "$(dirname "$f")" && cp -- "$FORMAT_SCRATCH/$f" "$f"; done';
  const back = 'code=$?; for f; do cp -- "$f" "$FORMAT_SCRATCH/$f"; done; exit $code';

  const format = (files: readonly FileChange[]): Promise<readonly FileChange[]> =>
    withScratch('format', async (scratch) => {
      for (const { path, result } of files) {
        await mkdir(dirname(join(scratch, path)), { recursive: true });
        if (result !== null)
          await writeFile(join(scratch, path), await ports.blobs.get(result.ref));
      }
      // Paths are arguments of the shell's, never a part of the command's text.
      const paths = files.map(({ path }) => (inPlace ? `./${path}` : join(scratch, path)));
      const script = inPlace ? `${copies}; { ${run}\n}; ${back}` : run;
      const turn = {
        wait_ms: ports.timings.commandTurn_ms,
        work_ms: STORE_BOUNDS.format_s * 1000,
        signal,
      };
      const layer = { run: 'format', workspace, proposal: [], isWarm: false };
      const ran = await commandTurn(turn, () =>
        ports.layers.use(layer, ({ overlay }) =>
          ports.commands.run({
            command: ['/bin/sh', '-c', script, 'sh', ...paths],
            cwd: workspace,
            env,
            more: { FORMAT_FILE: paths[0] ?? '', FORMAT_SCRATCH: scratch },
            sandbox: box === 'off' ? box : { ...box, overlay, scratch: [scratch] },
            timeout_s: STORE_BOUNDS.format_s,
            maxOutput_bytes: STORE_BOUNDS.hookOutput_bytes,
            signal,
          }),
        ),
      );
      const named = files.map(({ path }) => path).join(', ');
      if (ran.exit !== 0)
        fail('config_invalid', `formatCommand failed for ${named}: ${ran.output.slice(0, 500)}`);
      return Promise.all(
        files.map(async (change) => {
          if (change.result === null) return change;
          const ref = await ports.blobs.put(await readGiven(join(scratch, change.path)));
          return { ...change, result: { ...change.result, ref } };
        }),
      );
    });

  const isOneCall = command.includes('{files}');
  const done = isOneCall
    ? await format(wanted)
    : (await together(wanted, (change) => format([change]), COMMANDS)).flat();
  const byPath = new Map(done.map((change) => [change.path, change]));
  return {
    changes: changes.map((change) => byPath.get(change.path) ?? change),
    findings: left.map(({ path }) => ({
      guard: 'formatter',
      severity: 'note',
      path,
      message: `Not formatted, and removed while other files were formatted: a tool may run it (${whyRun(path) ?? ''}).`,
    })),
  };
}
