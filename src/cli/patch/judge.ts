/** From an answer to what it would do to the workspace; nothing is written. */
import { join } from 'node:path';
import {
  applyAnswer,
  detectFormat,
  nonceOf,
  type AnswerOutcome,
  type OfferedFile,
  type Reason,
} from '../../edits/index.js';
import { parseConfig } from '../../job/config.js';
import { resolveLimits } from '../../job/limits.js';
import type { ProjectConfig } from '../../job/types.js';
import { DIALECTS, FORMATS, type AnswerFormat } from '../../shared/formats.js';
import type { LimitName } from '../../shared/limits.js';
import { fail, problem, ProblemError } from '../../shared/problems.js';
import { loadSyntax } from '../../syntax/index.js';
import { gatherFiles } from './gather-files.js';
import { readGivenText } from '../../workspace/given-file.js';

export interface Judged {
  readonly format: AnswerFormat;
  /** As `applyAnswer` says it, or `refused` where a path is not one of the workspace's files. */
  readonly outcome: AnswerOutcome;
  /** The files that the answer names and that exist. */
  readonly offered: ReadonlyMap<string, OfferedFile>;
}

/** `emend.yaml` of the workspace: limits, rungs, encodings. Throws ProblemError `config_invalid`. */
export const readConfig = async (workspace: string): Promise<ProjectConfig> => {
  const source = await readGivenText(join(workspace, 'emend.yaml'));
  const config = parseConfig(source, 'emend.yaml');
  if (config.ok) return config.value;
  const [first = problem('config_invalid', 'emend.yaml cannot be read.')] = config.problems;
  throw new ProblemError({ ...first, message: config.problems.map(({ message }) => message).join('\n') });
};

/** No job says anything here: emend.yaml, else the defaults. */
export const limitOf = (config: ProjectConfig, name: LimitName): number =>
  resolveLimits(config, { limits: {} }, {})[name] ?? Infinity;

const ANSWER_FORMATS: readonly AnswerFormat[] = [...FORMATS, ...DIALECTS];

/** `asked`: a format, or `auto`. Throws ProblemError `usage` where no format can be told. */
export const formatOf = (asked: string, answer: string): AnswerFormat => {
  const named = ANSWER_FORMATS.find((name) => name === asked);
  if (named !== undefined) return named;
  const list = ANSWER_FORMATS.join(', ');
  if (asked !== 'auto') return fail('usage', `--format expected auto or one of ${list}; received "${asked}".`);
  return (
    detectFormat(answer) ??
    fail('usage', 'No line of the answer opens one of the known formats.', `Name it with --format: ${list}.`)
  );
};

/**
 * Running the command is the decision: no marker is asked for, files may be made and deleted, rungs have their defaults or what
 * emend.yaml says. What remains to refuse is what does not fit, and findings that refuse.
 */
export const judge = async (
  workspace: string,
  config: ProjectConfig,
  format: AnswerFormat,
  answer: string,
): Promise<Judged> => {
  const nonce = nonceOf(answer);
  const options = {
    requireMarker: false,
    rungs: config.rungs,
    guards: config.guards,
    allowDelete: true,
    mayCreateUnder: [''],
    ...(nonce === undefined ? {} : { nonce }),
  };
  const { files, reasons, newFileEol, absent, beside } = await gatherFiles({
    ...{ format, answer, options, workspace, config },
    maxFile_bytes: limitOf(config, 'maxFile_bytes'),
    maxFiles: limitOf(config, 'maxFilesPerStep'),
  });
  if (reasons.length > 0) return { format, outcome: refused(reasons), offered: files };
  return {
    format,
    outcome: applyAnswer({
      ...{ format, answer, files },
      options: { ...options, newFileEol, beside, syntax: await loadSyntax([...files.keys(), ...absent]) },
    }),
    offered: files,
  };
};

const refused = (reasons: readonly Reason[]): AnswerOutcome => ({ outcome: 'refused', reasons });
