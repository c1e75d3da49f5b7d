/**
 * Reads and applies a review policy: the proposals that `emend run --policy FILE` may approve without a reviewer. A proposal that exceeds any
 * bound of the policy waits for a reviewer. Pure. docs/cli.md describes the keys.
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
/** Names of the keys. A test checks that docs/cli.md describes exactly these. */
export const POLICY_KEYS = Object.keys(SHAPE);

const withDefaults = (keys: ReturnType<typeof checkKeys<typeof SHAPE>>) => ({
  /** Gitignore-style patterns; every changed file must match. */
  paths: keys.paths ?? [],
  /** Patterns of files that always wait for a reviewer. */
  except: keys.except ?? [],
  changes: keys.changes ?? (['edit'] as const),
  maxFiles: keys.max_files ?? 20,
  /** Maximum number of added and removed lines together. */
  maxLines: keys.max_lines ?? 500,
  maxLinesPerFile: keys.max_lines_per_file ?? 500,
  /** The gravest finding that may pass. With `none`, a proposal with any finding waits. */
  findings: keys.findings ?? 'note',
  formats: keys.formats ?? FORMATS,
  tolerances: keys.tolerances ?? [],
  protectedPaths: keys.protected_paths ?? [],
  /** Patterns of new files that may pass. They also cover files that the model chose to create. */
  create: keys.create ?? [],
});
export type Policy = Readonly<ReturnType<typeof withDefaults>>;

const NEXT = 'Fix the named line of the policy; docs/headless.md describes its keys.';

/** Reads a policy. Every problem begins with `path:line:`. The key `paths` is required, because a policy without it would cover all files. */
export const parsePolicy = (source: string, path: string): Checked<Policy> => {
  const read = readMap(source, SHAPE, { file: path, code: 'config_invalid' });
  if (!read.ok) return { ok: false, problems: withNext(read.problems) };
  const { keys, map, findings } = read;
  if (map !== null && !Object.hasOwn(map, 'paths'))
    findings.add(['paths'], 'a list of gitignore-style patterns', undefined);
  if (findings.problems.length > 0) return { ok: false, problems: withNext(findings.problems) };
  return { ok: true, value: withDefaults(keys) };
};
const withNext = (problems: readonly Problem[]) =>
  problems.map(({ message }) => problem('config_invalid', message, NEXT));

/** Returns the reasons for which the proposal must wait for a reviewer. The list is empty if the policy approves it. */
export const evaluatePolicy = (
  policy: Policy,
  proposal: ProposalSummary,
  ledger: readonly Pick<LedgerRow, 'path' | 'format'>[],
): readonly string[] => {
  const isInside = allowedBy(policy.paths);
  const isExcepted = forbiddenBy(policy.except);
  const mayBeNew = allowedBy(policy.create);
  const isAllowed = ({ change, path, to }: ProposalFileSummary): boolean => {
    if (policy.changes.includes(change)) return true;
    // A move is a deletion at the old path and a new file at the new one.
    const partOfMove = to === undefined ? 'create' : 'delete';
    const part = change === 'move' ? partOfMove : change;
    return policy.changes.includes(part) || (part === 'create' && mayBeNew(path));
  };
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
    // The step has reasons of its own. Those that a bound above already covers are left out.
    ...unlisted(proposal, PROTECTED_PATH, policy.protectedPaths),
    ...unlisted(proposal, NEW_FILE, policy.create),
    ...proposal.mustAsk.filter(
      (reason) => !KNOWN.some((start) => isAbout(reason, start)) && !isFinding(reason, proposal),
    ),
  ];
};

/** Returns the bounds of a policy in one line, which the record of an approval keeps. */
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
const KNOWN = [PROTECTED_PATH, NEW_FILE, 'deletion of', 'move of ', 'tolerance '];
const isAbout = (reason: string, start: string): boolean => reason.startsWith(start);
const isFinding = (reason: string, { findings }: ProposalSummary): boolean =>
  findings.some((finding) => reason === `${finding.guard} in ${finding.path}`);
/**
 * Returns the reasons that begin with `start` and name a file outside the patterns. A path may contain a colon, so a reason can fit several
 * files. Then the patterns must list each of them.
 */
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

/** Reports a file in a format that the policy does not list. Files that a reviewer or a hook changed, and removed files, have no format. */
const formatReason = (
  policy: Policy,
  file: ProposalFileSummary,
  format: Format | undefined,
): readonly string[] => {
  const goes = file.change === 'delete' || file.to !== undefined;
  if (file.by !== 'model' || goes || format === undefined) return [];
  return policy.formats.includes(format) ? [] : [`${file.path} came as ${format}, not in formats`];
};
