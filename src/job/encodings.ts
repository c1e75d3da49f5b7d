/** Which encoding `encodings:` of emend.yaml names for a file. */
import ignore from 'ignore';
import type { ProjectConfig } from './types.js';

/** The first pattern that fits decides; undefined: none does. */
export const encodingOf = ({ encodings }: Pick<ProjectConfig, 'encodings'>, path: string): string | undefined =>
  encodings.find(({ pattern }) => ignore().add(pattern).ignores(path))?.encoding;
