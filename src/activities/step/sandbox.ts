/** What a step's commands are shut in with: as configured, with what people said since. */
import { homedir } from 'node:os';
import type { ProjectConfig, SandboxSettings } from '../../documents/job/index.js';
import type { NoSandbox, SandboxChoice } from '../../shared/proposal-activities.js';
import type { RunTestsInput } from '../../shared/test-activities.js';
import type { Box } from '../../workspace/commands/index.js';
import type { ActivityPorts } from '../frame/ports.js';
import { currentJobSandbox } from './job-sandbox.js';
import { getSnapshot, projectConfig, settingsIn, type Snapshot } from './snapshot.js';

export const sandboxFor = (
  configured: SandboxSettings | 'off',
  { without }: SandboxChoice = {},
): SandboxSettings | 'off' => (without === true ? 'off' : configured);

type Commanded = Pick<
  RunTestsInput,
  'stepKey' | 'repository' | 'workspace' | 'snapshot' | 'settings' | 'sandbox'
>;
type ChangedFile = { readonly path: string };
export interface CommandConfig extends ProjectConfig {
  /** Path of the file that sets `sandbox`, as people see it. */
  readonly sandboxFile: string;
}
const CONFIG_FILE = 'emend.yaml';

/**
 * Returns what commands go by: the settings at the start of the step, or the current `env` and `sandbox` if the reviewer was asked to change
 * them. A file that the step itself changes never counts as it is now. A job's own `sandbox` counts before that of `emend.yaml`.
 */
export async function commandConfig(
  ports: ActivityPorts,
  input: Commanded,
  files: readonly ChangedFile[],
): Promise<CommandConfig> {
  const kept = input.snapshot === undefined ? null : await getSnapshot(ports.blobs, input.snapshot);
  const start = kept?.config ?? (await configNow(ports, input, kept));
  const isReread = input.sandbox?.reread === true && kept !== null;
  const { env, sandbox } = isReread ? await configAgain(ports, input, kept, files) : start;
  const job = kept?.job ?? null;
  const own = isReread ? await jobSandbox(ports, input, kept, files) : (job?.sandbox ?? null);
  return {
    ...start,
    env,
    sandbox: sandboxFor(own ?? sandbox, input.sandbox),
    sandboxFile: own === null || job === null ? CONFIG_FILE : job.path,
  };
}

const configNow = (
  ports: ActivityPorts,
  { workspace, settings }: Commanded,
  kept: Snapshot | null,
): Promise<ProjectConfig> => {
  const commit = kept?.configurationCommit;
  const at = commit === undefined ? {} : { commit };
  return projectConfig(ports, workspace, { ...settingsIn({ settings }), ...at });
};

const configAgain = async (
  ports: ActivityPorts,
  input: Commanded,
  kept: Snapshot,
  files: readonly ChangedFile[],
): Promise<ProjectConfig> =>
  files.some(({ path }) => path === CONFIG_FILE) ? kept.config : configNow(ports, input, kept);

const jobSandbox = async (
  ports: ActivityPorts,
  input: Commanded,
  { job, configurationCommit }: Snapshot,
  files: readonly ChangedFile[],
): Promise<SandboxSettings | 'off' | null> => {
  // Of a run on a pull request only files of the target branch count.
  const isKept = configurationCommit !== undefined || files.some(({ path }) => path === job.path);
  return isKept ? job.sandbox : currentJobSandbox(ports, input, job);
};

/** For a command that is to run now. */
export const boxFor = async (
  { commands }: Pick<ActivityPorts, 'commands'>,
  settings: SandboxSettings | 'off',
  workspace: string,
): Promise<Box | 'off' | NoSandbox> => {
  if (settings === 'off') return 'off';
  const why = await commands.withoutSandbox();
  return why === null ? { settings, workspace } : { outcome: 'no_sandbox', why };
};
export const isNoSandbox = (box: Box | 'off' | NoSandbox): box is NoSandbox =>
  box !== 'off' && 'outcome' in box;
/** Where no decision of a step can give the consent. */
export const noSandboxFor = (what: string, why: string): string =>
  `there is no sandbox for ${what}: ${why}. Install bubblewrap, or allow running without one by \`sandbox: off\` in emend.yaml; then retry`;

// What a sandbox refuses shows in what commands say of it.

/** A note of Emend at the end of the output. */
const REFUSED = /^refused by Emend: (\S+): /;
const NETWORK =
  /ENETUNREACH|EAI_AGAIN|ENOTFOUND|network is unreachable|could not resolve host|name resolution|no such host/i;
const SERVICE =
  /(?:ECONNREFUSED|connection refused)[^\n]{0,80}?(?:127\.0\.0\.1|localhost|::1)[\])]*:(\d{2,5})\b/i;
const CERTIFICATE =
  /SELF_SIGNED_CERT|UNABLE_TO_GET_ISSUER_CERT|UNABLE_TO_VERIFY_LEAF|CERTIFICATE_VERIFY_FAILED|unable to get local issuer certificate/;
const NO_IDENTITY = /unable to auto-detect email address|Please tell me who you are/;
/** Git prints nothing if `stash` may not write the git directory. A test prints the command that failed. */
const STASH = /\bgit(?: |', '|", ")stash\b/;
/** Returns why `git stash` fails in the sandbox, if the output names it; null: it does not. */
export const stashRefused = (output: string): string | null =>
  STASH.test(output)
    ? 'its git directory is read-only, so `git stash` fails without a message (no key allows that: use a repository in /tmp in the test)'
    : null;
const READ_ONLY = /EROFS|read-only file system/i;
const NOT_THERE =
  /ENOENT|EACCES|no such file|permission denied|cannot access|cannot open|not found|does not exist/i;
const MEMORY = /ENOMEM|cannot allocate memory|out of memory/i;
const PROCESSES = /fork\b.{0,300}(?:EAGAIN|resource temporarily unavailable)/i;
const PATH = /(?<=(['"`]))\/.+?(?=\1)|(?<![\w.~/-])\/[^\s'"`:,;()<>]+/;

/** What the output of a command says that the sandbox refused, and the key of `sandbox:` that would let it; null: nothing known. */
export function refusedBySandbox(output: string): string | null {
  for (const line of output.split('\n')) {
    const path = PATH.exec(line)?.[0];
    const destination = REFUSED.exec(line)?.[1];
    if (destination !== undefined) return `it refused ${destination} (\`network: { allow: […] }\`)`;
    if (NETWORK.test(line)) return 'it blocked the network (`network: true`)';
    if (MEMORY.test(line)) return 'it ran out of memory (`memory_mib`)';
    if (PROCESSES.test(line)) return 'it ran out of processes (`processes`)';
    if (READ_ONLY.test(line) && /\.git\b/.test(line))
      return 'it blocked a write to the git directory (no key allows that)';
    if (READ_ONLY.test(line) && path !== undefined)
      return `it blocked a write to ${path} (\`write: [${path}]\`)`;
    if (
      NOT_THERE.test(line) &&
      path !== undefined &&
      [homedir(), '/home', '/root', '/run', '/var/run', '/tmp'].some((dir) =>
        path.startsWith(`${dir}/`),
      )
    )
      return `it hides ${path} (\`read: [${path}]\`)`;
  }
  return refusedService(output);
}

/** What only a user of the machine can know: a service that tests expect may be one of the machine's. */
function refusedService(output: string): string | null {
  const port = SERVICE.exec(output)?.[1];
  if (port !== undefined)
    return `a service at localhost:${port} may be this machine's, which it does not reach (\`network: { allow: [localhost:${port}] }\`)`;
  if (CERTIFICATE.test(output))
    return 'it does not know your certificate authority (list its variable in `env:`, as `env: [NODE_EXTRA_CA_CERTS, PIP_CERT]`, and its file in `read:`)';
  const stash = stashRefused(output);
  if (stash !== null) return stash;
  if (NO_IDENTITY.test(output)) return 'it hides your git configuration (`read: [~/.gitconfig]`)';
  return null;
}
/** What to do about it. `sandboxFile`: the file of the workspace that sets `sandbox`. */
export const blockedText = (
  what: string,
  refused: string | null,
  { workspace, sandboxFile }: { readonly workspace: string; readonly sandboxFile: string },
): string => {
  const keys =
    sandboxFile === CONFIG_FILE
      ? `\`sandbox:\` or \`env:\` in ${workspace}/${CONFIG_FILE}`
      : `\`sandbox:\` of the job ${sandboxFile}, or to \`env:\` in ${workspace}/${CONFIG_FILE}`;
  return (
    `${what}: ${refused ?? 'its output does not say what is missing (docs/sandbox.md lists the keys)'}. ` +
    `Add a key to ${keys}, then answer retry`
  );
};
