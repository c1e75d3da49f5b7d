/** `emend.yaml` for activities that cannot do without it. */
import { parseConfig } from '../job/config.js';
import type { ProjectConfig } from '../job/types.js';
import { fail } from '../shared/problems.js';
import { readTextFile } from './preflight-files.js';

/** Throws ProblemError `config_invalid` with all that is wrong in it. */
export const projectConfig = async (workspace: string): Promise<ProjectConfig> => {
  const config = parseConfig(await readTextFile(workspace, 'emend.yaml'), 'emend.yaml');
  return config.ok ? config.value : fail('config_invalid', config.problems.map(({ message }) => message).join('\n'));
};
