/**
 * Replaces secrets in notes and hints before they are sent, as nothing can be removed from a history. The model,
 * the archive and every face get the replacement.
 */
import { hideSecrets, secretsOfEnvironment } from '../../system/secrets.js';
import { readConfig } from '../../workspace/documents/index.js';

/**
 * Returns a text, or a value of JSON, with `(secret)` for what is recognized, for values of secret-named variables of this process, and
 * for those that `env:` of the workspace's `emend.yaml` lists. `workspace`: null if it is not on this machine.
 */
export const maskedWords = async <T>(words: T, workspace: string | null): Promise<T> => {
  const config = workspace === null ? null : await readConfig(workspace).catch(() => null);
  const names = config?.ok === true ? config.value.env : [];
  return hideSecrets(words, secretsOfEnvironment(process.env, names));
};
