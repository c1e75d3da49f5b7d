/** A check of `emend doctor`: whether commands can be shut in here, what limits them, and what they reach. */
import { networkText } from '../../documents/job/index.js';
import type { Environment } from '../../system/environment.js';
import { findBubblewrap, limitedBy, seccompFilter } from '../../workspace/commands/index.js';
import { readConfig } from '../../workspace/documents/index.js';
import { gitLine } from '../../workspace/git/index.js';
import type { Check } from '../json-types.js';

type Finding = Omit<Check, 'name'>;

/** Starts a sandbox for real. Bubblewrap is fetched if there is none, as a worker would do. */
export async function sandboxFinding(env: Environment, cwd: string): Promise<Finding> {
  const found = await findBubblewrap(env);
  if (!found.works)
    return process.platform === 'linux'
      ? {
          ok: false,
          found: found.why,
          fix: 'Install bubblewrap 0.11 or newer, and allow unprivileged user namespaces (docs/sandbox.md).',
        }
      : { ok: true, found: `${found.why}: you are asked before tests run`, fix: null };
  const asRoot =
    process.getuid?.() === 0
      ? ", as root: commands keep root's file permissions; use a separate account"
      : '';
  const filter =
    seccompFilter() === null
      ? `, without a filter of system calls, as this is ${process.arch}`
      : '';
  const program = `bubblewrap ${found.version} at ${found.path} (${found.from})${filter}${asRoot}`;
  const parts = [program, `limits: ${await limitedBy()}`, ...(await networkParts(env, cwd))];
  return { ok: true, found: parts.join('; '), fix: null };
}

/** Says what emend.yaml of the workspace lets commands reach. A file that cannot be read is reported by the run. */
async function networkParts(env: Environment, cwd: string): Promise<readonly string[]> {
  const top = await gitLine(['rev-parse', '--show-toplevel'], { cwd, environment: env });
  const read = await readConfig(top.ok ? top.value : cwd).catch(() => null);
  if (read?.ok !== true || read.value.sandbox === 'off') return [];
  return [`network: ${networkText(read.value.sandbox.network) ?? 'none'}`];
}
