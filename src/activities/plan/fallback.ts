/**
 * After a failed attempt a phase is asked for in another way: by the model that `emend.yaml` names for that (`plan: { fallbackModel }`), else
 * in another format. A file that is too long for a whole answer is never asked for as one. Null: there is no other way.
 */
import { parseConfig } from '../../job/config.js';
import { resolveLimits } from '../../job/limits.js';
import { FORMATS, type Format } from '../../shared/formats.js';
import type { PhaseJobInput } from '../../shared/plan/activities.js';
import { readTextFile } from '../preflight-files.js';
import { editsOf, type PhaseToEstimate } from './estimate.js';

export type Fallback =
  { readonly key: 'model'; readonly value: string } | { readonly key: 'format'; readonly value: Format };

export async function fallbackOf(
  { workspace, overrides, phase, score }: Pick<PhaseJobInput, 'workspace' | 'overrides' | 'phase' | 'score'>,
  files: PhaseToEstimate['files'],
): Promise<Fallback | null> {
  const config = parseConfig(await readTextFile(workspace, 'emend.yaml'), 'emend.yaml');
  // Its own run refuses a configuration that cannot be read, and says why.
  if (!config.ok) return null;
  const limits = resolveLimits(config.value, { limits: {} }, overrides);
  const edits = await editsOf(workspace, config.value, limits, { files, category: phase.category, score });
  const other = config.value.plan?.fallbackModel;
  if (other !== undefined && other !== edits.model) return { key: 'model', value: other };
  // A new file has one sensible format; of files that a model picks nothing is known.
  const largest = edits.files.filter(({ isNew }) => !isNew).sort((a, b) => b.bytes - a.bytes)[0];
  if (!edits.named || largest === undefined) return null;
  const start = FORMATS.indexOf(largest.format);
  const used = new Set(edits.files.map(({ format }) => format));
  const next = [...FORMATS.slice(start), ...FORMATS.slice(0, start)].find(
    (format) =>
      edits.on[format] &&
      !used.has(format) &&
      (format !== 'whole-file' || edits.files.every(({ bucket }) => bucket === 'A')),
  );
  return next === undefined ? null : { key: 'format', value: next };
}
