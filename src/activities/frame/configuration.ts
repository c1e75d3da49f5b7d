/** Finds out whether the files that Emend obeys are yours, before it obeys them. */
import type { UntrustedConfiguration } from '../../shared/step-activities.js';
import { fail } from '../../shared/problems.js';
import { hideSecrets } from '../../system/secrets.js';
import { doubtText, type ConfigurationFile } from '../../workspace/trust/index.js';
import type { ActivityPorts } from './ports.js';

/** Accepts the contents in `trusts`. Returns null if nothing is left to ask. */
export async function untrustedConfiguration(
  { trust }: Pick<ActivityPorts, 'trust'>,
  root: string,
  files: readonly ConfigurationFile[],
  trusts: readonly string[] = [],
): Promise<UntrustedConfiguration | null> {
  const accepted = files.filter(({ hash }) => trusts.includes(hash));
  if (accepted.length > 0) await trust.accept(root, accepted);
  const doubts = await trust.doubts(root, files);
  if (doubts.length === 0) return null;
  return {
    outcome: 'untrusted',
    hashes: doubts.map(({ hash }) => hash),
    message: await hideSecrets(doubts.map(doubtText).join('\n')),
  };
}

/** Throws ProblemError `config_untrusted` for activities that cannot ask. */
export async function requireTrusted(
  ports: Pick<ActivityPorts, 'trust'>,
  root: string,
  files: readonly ConfigurationFile[],
): Promise<void> {
  const untrusted = await untrustedConfiguration(ports, root, files);
  if (untrusted !== null)
    fail(
      'config_untrusted',
      `${untrusted.message} Read it. If you want what it says, type: emend trust ${files.map(({ path }) => path).join(' ')}, and then answer retry.`,
    );
}
