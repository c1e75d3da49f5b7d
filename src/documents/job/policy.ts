/**
 * A review policy: what `emend run --policy FILE` may approve without a person. It only ever says less than a person: what lies outside
 * any of its bounds waits. Pure. docs/cli.md describes the keys.
 */
import { z } from 'zod';
import {
  FORMATS,
  TOLERANCES,
  SEVERITIES,
  type Format,
  type Tolerance,
} from '../../shared/formats.js';
import { problem, type Problem } from '../../shared/problems.js';
import type { LedgerRow } from '../../shared/run.js';
import type { ProposalFileSummary, ProposalSummary } from '../../shared/proposal-activities.js';
import { count } from '../../shared/text.js';
import { toleranceText } from '../../shared/tolerance-text.js';
import { readMap, type checkKeys } from '../source/check.js';
import { allowedBy, forbiddenBy } from '../source/patterns.js';
import { oneOf, patterns, patternsAs, wholeNumber } from '../source/schemas.js';
import type { Checked } from './types.js';

const CHANGES = ['edit', 'create', 'delete', 'move'] as const;

const bound = (what: string) => wholeNumber(0, 1_000_000, what);
const listOf = <const Words extends readonly [string, ...string[]]>(words: Words) =>
  z.array(oneOf(words), { error: `a list of ${words.join(', ')}` });

const SHAPE = {
  v: z.literal(1, { error: '1' }),
  paths: patterns,
  except: patterns,
  changes: listOf(CHANGES),
  max_files: bound('files'),
  max_lines: bound('lines'),
  max_lines_per_file: bound('lines'),
  findings: oneOf(['none', ...SEVERITIES]),
  formats: listOf(FORMATS),
  tolerances: listOf(Object.keys(TOLERANCES) as [Tolerance, ...Tolerance[]]),
  protected_paths: patternsAs(
    'a list of gitignore-style patterns of protected files that may pass, as in `protected_paths: ["package.json"]`',
  ),
  create: patterns,
} satisfies Record<string, z.ZodType>;
/** docs/cli.md is held to them by a test. */
export const POLICY_KEYS = Object.keys(SHAPE);

const filledIn = (said: ReturnType<typeof checkKeys<typeof SHAPE>>) => ({
  /** Gitignore-style patterns; every changed file must match. */
  paths: said.paths ?? [],
  /** Patterns of files that always wait. */
  except: said.except ?? [],
  changes: said.changes ?? (['edit'] as const),
  maxFiles: said.max_files ?? 20,
  /** Added and removed lines together. */
  maxLines: said.max_lines ?? 500,
  maxLinesPerFile: said.max_lines_per_file ?? 500,
  /** The gravest finding that may pass; `none`: no finding at all. */
  findings: said.findings ?? 'note',
  formats: said.formats ?? FORMATS,
  tolerances: said.tolerances ?? [],
  protectedPaths: said.protected_paths ?? [],
  /** Patterns of new files that may pass, those that a model chose to make, too. */
  create: said.create ?? [],
});
export type Policy = Readonly<ReturnType<typeof filledIn>>;

const NEXT = 'Fix the named line of the policy; docs/headless.md describes its keys.';

/** Every problem starts `path:line:`. `paths` must be said: a policy without it would approve everywhere. */
export const parsePolicy = (source: string, path: string): Checked<Policy> => {
  const read = readMap(source, SHAPE, { file: path, code: 'config_invalid' });
  if (!read.ok) return { ok: false, problems: withNext(read.problems) };
  const { said, map, found } = read;
  if (map !== null && !Object.hasOwn(map, 'paths'))
    found.add(['paths'], 'a list of gitignore-style patterns', undefined);
  if (found.problems.length > 0) return { ok: false, problems: withNext(found.problems) };
  return { ok: true, value: filledIn(said) };
};
const withNext = (problems: readonly Problem[]) =>
  problems.map(({ message }) => problem('config_invalid', message, NEXT));

/** Why the proposal must wait for a person; empty: it is within all bounds. */
export const evaluatePolicy = (
  policy: Policy,
  proposal: ProposalSummary,
  ledger: readonly Pick<LedgerRow, 'path' | 'format'>[],
): readonly string[] => {
  const isInside = allowedBy(policy.paths);
  const isExcepted = forbiddenBy(policy.except);
  const mayBeNew = allowedBy(policy.create);
  const isAllowed = ({ change, path }: ProposalFileSummary): boolean =>
    policy.changes.includes(change) || (change === 'create' && mayBeNew(path));
  const lines = (file: ProposalFileSummary): number => file.added + file.removed;
  const total = proposal.files.reduce((sum, file) => sum + lines(file), 0);
  const formats = new Map(ledger.map((row) => [row.path, row.format]));
  const gravest = policy.findings === 'none' ? -1 : SEVERITIES.indexOf(policy.findings);
  return [
    ...(proposal.files.length > policy.maxFiles
      ? [`${proposal.files.length} files; max_files is ${policy.maxFiles}`]
      : []),
    ...(total > policy.maxLines ? [`${total} changed lines; max_lines is ${policy.maxLines}`] : []),
    ...proposal.files.flatMap((file) => [
      ...(isInside(file.path) ? [] : [`${file.path} matches none of paths`]),
      ...(isExcepted(file.path) ? [`${file.path} matches except`] : []),
      ...(isAllowed(file) ? [] : [`${file.path}: ${file.change} is not in changes`]),
      ...(lines(file) > policy.maxLinesPerFile
        ? [
            `${file.path}: ${lines(file)} changed lines; max_lines_per_file is ${policy.maxLinesPerFile}`,
          ]
        : []),
      ...formatReason(policy, file, formats.get(file.path)),
    ]),
    ...proposal.findings
      .filter((finding) => SEVERITIES.indexOf(finding.severity) > gravest)
      .map(
        (finding) => `${finding.path}: ${finding.guard} (${finding.severity}): ${finding.message}`,
      ),
    ...proposal.tolerances
      .filter(
        (tolerance) => !policy.tolerances.includes((tolerance.split(' ')[0] ?? '') as Tolerance),
      )
      .map((used) => `tolerance used: ${toleranceText(used)}`),
    // Reasons of the step itself, unless a limit above has given them already.
    ...unlisted(proposal, PROTECTED_PATH, policy.protectedPaths),
    ...unlisted(proposal, NEW_FILE, policy.create),
    ...proposal.mustAsk.filter(
      (reason) => !KNOWN.some((start) => isAbout(reason, start)) && !isFinding(reason, proposal),
    ),
  ];
};

/** In one line: what an approval by it was within. */
export const ruleOf = ({
  paths,
  except,
  changes,
  create,
  maxFiles,
  maxLines,
  findings: gravest,
}: Policy): string =>
  [
    `paths ${paths.join(', ')}`,
    ...(except.length === 0 ? [] : [`except ${except.join(', ')}`]),
    `changes ${changes.join(', ')}`,
    ...(create.length === 0 ? [] : [`create ${create.join(', ')}`]),
    `at most ${count(maxFiles, 'file')} and ${count(maxLines, 'line')}`,
    `findings: ${gravest}`,
  ].join('; ');

const PROTECTED_PATH = 'protected path ';
const NEW_FILE = 'new file ';
const KNOWN = [PROTECTED_PATH, NEW_FILE, 'deletion of', 'tolerance '];
const isAbout = (reason: string, start: string): boolean => reason.startsWith(start);
const isFinding = (reason: string, { findings }: ProposalSummary): boolean =>
  findings.some((finding) => reason === `${finding.guard} in ${finding.path}`);
/** A path may hold a colon: of all that the reason may be about, each must be listed. */
const unlisted = (
  { mustAsk, files }: ProposalSummary,
  start: string,
  patterns: readonly string[],
) => {
  const isListed = allowedBy(patterns);
  return mustAsk.filter((reason) => {
    const namedFiles = files.filter(({ path }) => isAbout(reason, `${start}${path}: `));
    return (
      isAbout(reason, start) &&
      (namedFiles.length === 0 || !namedFiles.every(({ path }) => isListed(path)))
    );
  });
};

/** What a person changed by hand, what a hook changed and what goes has no format. */
const formatReason = (
  policy: Policy,
  file: ProposalFileSummary,
  format: Format | undefined,
): readonly string[] => {
  if (file.by !== 'model' || file.change === 'delete' || format === undefined) return [];
  return policy.formats.includes(format) ? [] : [`${file.path} came as ${format}, not in formats`];
};
