/** The keys of the front matter of a job, with their schemas, and their values on the command line. docs/jobs.md describes them. */
import type { z } from 'zod';
import { EFFORTS } from './types.js';
import * as schema from '../source/schemas.js';
import { readYaml } from '../source/yaml.js';

const KEYS = {
  mode: schema.oneOf(['edit', 'standard', 'sequential']),
  target_files: schema.filePaths,
  new_files: schema.filePaths,
  delete_files: schema.filePaths,
  context_files: schema.filePaths,
  output_dir: schema.directoryPath,
  output_file: schema.filePath,
  output_files: schema.filePaths,
  format: schema.format,
  category: schema.text('a category, as text that is not empty'),
  complexity: schema.oneOf(['low', 'medium', 'high']),
  effort: schema.oneOf(EFFORTS),
  test: schema.test,
  commit: schema.commit,
  approval: schema.approval,
  model: schema.text('the name of a model'),
  final_newline: schema.flag,
  repository: schema.repository,
  base: schema.base,
  ...schema.SHARED,
  limits: schema.limitsMap,
} satisfies Record<string, z.ZodType>;

/** Schemas of all front-matter keys, including the limits. */
export const SHAPE = { ...KEYS, ...schema.limitShape };

/** Front matter before the check, as an author or a program writes it. docs/jobs.md describes the keys, which include the limits. */
export type JobKeys = {
  readonly [K in Exclude<keyof typeof SHAPE, 'test'>]?: z.input<(typeof SHAPE)[K]>;
} & {
  readonly test?: string | readonly string[] | false;
};

export type JobKey = keyof typeof KEYS;

/** Names of the front-matter keys without the limits. A test checks that docs/jobs.md describes exactly these. */
export const JOB_KEYS = Object.keys(KEYS) as readonly JobKey[];

/** Returns what values a key takes, in words that complete "expected …". `flag` reports whether `true` is one of them. */
export const keyTakes = (key: JobKey) => {
  const { error } = KEYS[key].safeParse(undefined);
  return { words: error?.issues[0]?.message ?? '', flag: KEYS[key].safeParse(true).success };
};

export const isPathKey = (key: JobKey): boolean =>
  ([schema.filePath, schema.filePaths, schema.directoryPath] as readonly z.ZodType[]).includes(
    KEYS[key],
  );

/**
 * Returns the value of a key for the texts of its option. One text is read as YAML if the key accepts the result, and is used unchanged
 * otherwise, because a commit message may be `Fix: a #2`. Several texts are a list. For a list of paths, one text may contain several paths,
 * separated by commas. The value is not checked here.
 */
export const keyValue = (key: JobKey, texts: readonly string[]): unknown => {
  if (KEYS[key] === schema.filePaths) return texts.flatMap((paths) => paths.split(','));
  const [text = '', ...others] = texts;
  if (others.length > 0) return texts;
  const yaml = readYaml(text, 0);
  const value =
    !yaml.ok || yaml.value === null || typeof yaml.value === 'string' ? text : yaml.value;
  const fits = (candidate: unknown): boolean => KEYS[key].safeParse(candidate).success;
  return [value, text, [text]].find(fits) ?? value;
};
