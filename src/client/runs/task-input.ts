/** A job that is sent as its text: its instructions and keys, as they would be typed. */
import { taskKeysOf } from '../../documents/job/index.js';
import { readYaml } from '../../documents/source/yaml.js';
import { splitFrontMatter } from '../../documents/source/front-matter.js';
import { fail } from '../../shared/problems.js';
import type { EditStepInput } from '../../shared/start-input.js';
import { isRecord } from '../../shared/text.js';
import { tokensIn, withoutTokens } from '../../shared/tokens.js';
import type { JobFile } from '../../workspace/documents/index.js';
import { maskedWords } from './masked-words.js';

/** Returns instructions and keys of a job. Its settings and its place are other parts of the input. */
export const taskOf = async ({ bytes, jobPath, workspace }: JobFile): Promise<EditStepInput> => {
  const parts = splitFrontMatter(new TextDecoder().decode(bytes));
  const { yaml = null, body = '' } = parts.ok ? parts : {};
  const front = readYaml(yaml ?? '', 0);
  const keys = front.ok && isRecord(front.value) ? front.value : {};
  refuseSecretKeys(keys);
  return { task: await maskedWords(body, workspace), name: jobPath, ...taskKeysOf(keys) };
};

/** The keys of a job in words are in the history of its run. A masked command would be another command. */
const refuseSecretKeys = (keys: Readonly<Record<string, unknown>>): void => {
  for (const [key, value] of Object.entries(keys)) {
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    if (tokensIn(text).length > 0)
      fail(
        'config_invalid',
        `\`${key}\` contains what looks like a secret, and the history would keep it: ${withoutTokens(text)}`,
        'Put the secret into a variable of the worker, list its name under `env` in emend.yaml, and use the variable.',
      );
  }
};
