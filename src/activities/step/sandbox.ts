/** What a step's commands are shut in with: as configured, with what people said since. */
import { SANDBOX_ON, type SandboxSettings } from '../../documents/job/index.js';
import type { NoSandbox, SandboxChoice } from '../../shared/proposal-activities.js';
import type { Box } from '../../workspace/commands/index.js';
import type { ActivityPorts } from '../frame/ports.js';

export const sandboxFor = (
  configured: SandboxSettings | 'off' = SANDBOX_ON, // a snapshot of an earlier build says nothing
  { without, more = {} }: SandboxChoice = {},
): SandboxSettings | 'off' => {
  if (configured === 'off' || without === true) return 'off';
  const { network, read, write } = configured;
  return {
    ...configured,
    network: network || more.network === true,
    read: [...read, ...(more.read ?? [])],
    write: [...write, ...(more.write ?? [])],
  };
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
export const isNoSandbox = (box: Box | 'off' | NoSandbox): box is NoSandbox => box !== 'off' && 'outcome' in box;
/** Where no decision of a step can give the consent. */
export const noSandboxFor = (what: string, why: string): string =>
  `there is no sandbox for ${what}: ${why}. Install bubblewrap, or consent by \`sandbox: off\` in emend.yaml; then retry`;
