/** Lists what a document allows by its front matter. Pure. */
import * as jobs from '../../documents/job/index.js';
import { readPlanFront } from '../../documents/plan/index.js';
import type { ConfigurationFile } from './types.js';

/** Returns what the file allows, each entry completing "Emend may ". A document without front matter allows nothing. */
export function grantsInDocument({ kind, path, text }: ConfigurationFile): readonly string[] {
  switch (kind) {
    case 'config': {
      const config = jobs.parseConfig(text);
      return config.ok ? jobs.grantsOfConfig(config.value) : [];
    }
    case 'instructions':
      return [`give the model the instructions in ${path}`];
    case 'policy':
      return [`approve proposals by the policy ${path}`];
    case 'plan':
      return jobs.grantsOf(readPlanFront(text, path));
    case 'job': {
      // The parser is lenient about a BOM and blanks before and after the fence.
      if (
        !text
          .replace(/^\uFEFF/, '')
          .trimStart()
          .startsWith('---')
      )
        return [];
      const job = jobs.parseJob(text, path);
      return jobs.grantsOf(job.ok ? job.value : readPlanFront(text, path));
    }
  }
}
