/**
 * The configured formatter. On an overlay it works on the proposal's files at their own paths, and what it makes of them is read from the
 * upper layer. Without an overlay it works on a scratch copy. It sees the base of files that a tool might run or load.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { STORE_BOUNDS } from '../../shared/bounds.js';
import type { Finding } from '../../shared/formats.js';
import { whyProtected } from '../../documents/job/index.js';
import { fail } from '../../shared/problems.js';
import type { NoSandbox, SandboxChoice } from '../../shared/proposal-activities.js';
import { readBeneath } from '../../system/beneath.js';
import { realpath } from '../../system/fs.js';
import { withScratch } from '../../system/scratch.js';
import type { Box } from '../../workspace/commands/index.js';
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
  const binaryFiles = new Set(
    snapshot.targets.flatMap(({ base, isBinary }) => (isBinary === true && base ? [base.ref] : [])),
  );
  const toFormat = changes.filter(
    ({ result, path }) => result !== null && !binaryFiles.has(result.ref) && whyRun(path) === null,
  );
  const unformatted = changes.filter(
    ({ result, path }) => result !== null && whyRun(path) !== null,
  );
  if (toFormat.length === 0) return { changes, findings: [] };
  const workspace = await realpath(await ports.workspace.root(snapshot.workspace));
  const box = await boxFor(ports, sandboxFor(settings, sandbox), workspace);
  if (isNoSandbox(box)) return box;
  const formatter: Formatter = { command, env, workspace, box, run: snapshot.stepKey, signal };
  const hasOverlay = box !== 'off' && (await ports.layers.problem(workspace)) === null;
  const format = (files: readonly FileChange[]) =>
    hasOverlay ? formatInPlace(ports, formatter, files) : formatCopies(ports, formatter, files);
  const calls = command.includes('{files}') ? [toFormat] : toFormat.map((change) => [change]);
  const done: FileChange[] = [];
  // The activity has one slot of its host, so it runs one command at a time.
  for (const files of calls) done.push(...(await format(files)));
  const byPath = new Map(done.map((change) => [change.path, change]));
  return {
    changes: changes.map((change) => byPath.get(change.path) ?? change),
    findings: unformatted.map(({ path }) => ({
      guard: 'formatter',
      severity: 'note',
      path,
      message: `Not formatted, and shown to the formatter as it was before the change: a tool may run it (${whyRun(path) ?? ''}).`,
    })),
  };
}

interface Formatter {
  readonly command: string;
  readonly env: readonly string[];
  readonly workspace: string;
  readonly box: Box | 'off';
  /** Key of the run, for the layers. */
  readonly run: string;
  readonly signal: AbortSignal;
}

/** Formats files at their own paths, next to the tools' configuration, on an overlay that is dropped. */
const formatInPlace = (
  ports: ActivityPorts,
  formatter: Formatter,
  files: readonly FileChange[],
): Promise<readonly FileChange[]> => {
  const { workspace, run } = formatter;
  const paths = files.map(({ path }) => `./${path}`);
  return ports.layers.use(
    { run, workspace, proposal: files, isWarm: false },
    async ({ overlay }) => {
      await runFormatter(ports, formatter, { files, paths }, { overlay });
      return resultsIn(ports, overlay.upper, files, 'unchanged');
    },
  );
};

/** Formats copies of the files, which are all that the command is to write. */
const formatCopies = (
  ports: ActivityPorts,
  formatter: Formatter,
  files: readonly FileChange[],
): Promise<readonly FileChange[]> =>
  withScratch('format', async (scratch) => {
    for (const { path, result } of files) {
      await mkdir(dirname(join(scratch, path)), { recursive: true });
      if (result !== null) await writeFile(join(scratch, path), await ports.blobs.get(result.ref));
    }
    const paths = files.map(({ path }) => join(scratch, path));
    const places = { scratch: [scratch], isReadOnly: true };
    await runFormatter(ports, formatter, { files, paths }, places);
    return resultsIn(ports, scratch, files, 'removed');
  });

/** Throws ProblemError `config_invalid` if the command fails. */
async function runFormatter(
  { commands }: ActivityPorts,
  { command, env, workspace, box, signal }: Formatter,
  { files, paths }: { readonly files: readonly FileChange[]; readonly paths: readonly string[] },
  places: Pick<Box, 'overlay' | 'scratch' | 'isReadOnly'>,
): Promise<void> {
  // Paths are arguments of the shell's, never a part of the command's text.
  const script = command.replaceAll('{file}', '"$1"').replaceAll('{files}', '"$@"');
  const ran = await commands.run({
    command: ['/bin/sh', '-c', script, 'sh', ...paths],
    cwd: workspace,
    env,
    more: { FORMAT_FILE: paths[0] ?? '' },
    sandbox: box === 'off' ? box : { ...box, ...places },
    timeout_s: STORE_BOUNDS.format_s,
    maxOutput_bytes: STORE_BOUNDS.hookOutput_bytes,
    signal,
  });
  const named = files.map(({ path }) => path).join(', ');
  if (ran.exit !== 0)
    fail('config_invalid', `formatCommand failed for ${named}: ${ran.output.slice(0, 500)}`);
}

/** Reads what the command left below `dir`, with the modes of the proposal. `absent`: the meaning of a file that is not there. */
const resultsIn = (
  { blobs }: ActivityPorts,
  dir: string,
  files: readonly FileChange[],
  absent: 'unchanged' | 'removed',
): Promise<readonly FileChange[]> =>
  Promise.all(
    files.map(async (change) => {
      if (change.result === null) return change;
      const file = await readBeneath(dir, change.path, STORE_BOUNDS.target_bytes);
      if (file.ok)
        return { ...change, result: { ...change.result, ref: await blobs.put(file.value.bytes) } };
      if (file.reason === 'too_large')
        return fail(
          'target_too_large',
          `formatCommand left ${change.path} with more than ${STORE_BOUNDS.target_bytes} bytes.`,
        );
      return file.reason === 'absent' && absent === 'unchanged' ? change : refuse(change.path);
    }),
  );

const refuse = (path: string): never =>
  fail(
    'config_invalid',
    `formatCommand removed ${path}, or left something other than a regular file that Emend can read.`,
  );
