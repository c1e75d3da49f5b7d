/**
 * The zod schemas that job files and `emend.yaml` share. Every schema's error is a phrase that completes "expected …": the checker
 * (`check.ts`) puts the file, line and key before it and what was received behind it.
 */
import { listFault, patternFault } from './patterns.js';
import { posix } from 'node:path';
import { z } from 'zod';
import { FORMATS } from '../../shared/formats.js';
import { BASELINES, LIMITS, type LimitName, type LimitSpec } from '../../shared/limits.js';
import { isBase, urlFault, URL_WORDS } from '../../shared/repository.js';
import { isRelativeWrite, writeRefusal } from '../job/write-paths.js';
import { readTarget, TARGET } from './network-targets.js';

// The rule for every path in a job file and `emend.yaml`: relative, `/`-separated, inside the workspace. Says nothing about the disk.

export type CheckedPath = Readonly<{ ok: true; path: string } | { ok: false; expected: string }>;

const PATH_CHARS = 4_096; // bound: Characters of a path in a document: the kernel opens no longer path.
const LONG = `a path of at most ${PATH_CHARS} characters`;

const refused = (expected: string): CheckedPath => ({ ok: false, expected });

/** Normalises (`./src//a.ts` is `src/a.ts`) or says what was expected instead. A file, so neither `.` nor a trailing `/`. */
export function checkFilePath(written: string): CheckedPath {
  const checked = checkDirectoryPath(written);
  if (!checked.ok) return checked;
  if (checked.path === '' || /\/\.?$/.test(written))
    return refused('the path of a file, not of a directory');
  return checked;
}

/** As `checkFilePath`, for a directory; the workspace itself is `''`. */
function checkDirectoryPath(written: string): CheckedPath {
  if (written.length > PATH_CHARS) return refused(LONG);
  if (written.trim() === '') return refused('a path that is not empty');
  if (hasControl(written))
    return refused('a path without NUL, line ends and other control characters');
  if (written.includes('\\')) return refused('a path with "/" between its parts, no "\\"');
  if (written.startsWith('/') || /^[A-Za-z]:\//.test(written))
    return refused('a path relative to the workspace, not absolute');
  const path = posix.normalize(written).replace(/\/$/, '');
  if (path === '..' || path.startsWith('../')) return refused('a path inside the workspace');
  if (path.startsWith('~'))
    return refused('a path that does not start with "~": home directories are not expanded');
  if (path.split('/').some(isGitDirectory)) return refused('a path outside .git');
  return { ok: true, path: path === '.' ? '' : path };
}

/** `.git` as Windows and macOS read names: without characters that they drop, stream names, trailing dots and blanks. */
function isGitDirectory(part: string): boolean {
  const shown =
    part.replace(/[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g, '').split(':')[0] ?? '';
  return /^(\.git|git~1)[. ]*$/i.test(shown);
}

/** Paths stand on lines of their own in prompts and answers: a line end inside one would make a second line. */
function hasControl(text: string): boolean {
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    if (code < 0x20 || code === 0x7f || code === 0x2028 || code === 0x2029) return true;
  }
  return false;
}

/** A map of these keys alone. Of an unknown one the message is the keys that are known: the checker tells of it in its own words. */
export const mapOf = <Shape extends z.ZodRawShape>(shape: Shape, what?: string) =>
  z.strictObject(shape, {
    error: ({ code }) => (code === 'unrecognized_keys' ? Object.keys(shape).join(', ') : what),
  });

export const LIMIT_NAMES = Object.keys(LIMITS) as LimitName[];

/** US dollars may have cents; everything else is counted. */
const isCounted = (name: LimitName): boolean => name !== 'budget_usd';

export function expectedOfLimit(name: LimitName): string {
  const { min, max, unit }: LimitSpec = LIMITS[name];
  return `${isCounted(name) ? 'a whole number' : 'a number'} from ${min} to ${max} (${unit})`;
}

export function isLimitValue(name: LimitName, value: number): boolean {
  const { min, max }: LimitSpec = LIMITS[name];
  return (
    Number.isFinite(value) &&
    value >= min &&
    value <= max &&
    (!isCounted(name) || Number.isInteger(value))
  );
}

export const limitValue = (name: LimitName) =>
  z
    .number({ error: expectedOfLimit(name) })
    .refine((value) => isLimitValue(name, value), { error: expectedOfLimit(name) });

/** One optional entry per limit, by its exact name. */
export const limitShape = Object.fromEntries(
  LIMIT_NAMES.map((name) => [name, limitValue(name).optional()]),
) as Record<LimitName, z.ZodOptional<ReturnType<typeof limitValue>>>;
export const limitsMap = mapOf(limitShape, 'a map of limits (docs/configuration.md names them)');

export const flag = z.boolean({ error: 'true or false' });
export const text = (what: string) =>
  z.string({ error: what }).refine((value) => value.trim() !== '', { error: what });
export const oneOf = <const Words extends readonly [string, ...string[]]>(words: Words) =>
  z.enum(words, { error: `one of ${words.join(', ')}` });

const pathBy = (what: string, check: (written: string) => CheckedPath) =>
  z.string({ error: what }).transform((written, context) => {
    const checked = check(written);
    if (checked.ok) return checked.path;
    context.addIssue({ code: 'custom', message: checked.expected });
    return z.NEVER;
  });
export const filePath = pathBy('the path of a file, as text', checkFilePath);
export const directoryPath = pathBy('the path of a directory, as text', checkDirectoryPath);
export const filePaths = z
  .array(filePath, { error: 'a list of paths' })
  .superRefine((paths, context) =>
    paths.forEach((path, index) => {
      if (paths.indexOf(path) < index)
        context.addIssue({ code: 'custom', message: 'each file once', path: [index] });
    }),
  );

export const format = oneOf(FORMATS);
export const approval = oneOf(['ask', 'auto']);

/** YAML 1.2 reads `yes`, `no`, `on` and `off` as text: as a command or a commit message they are always a slip. */
const isYamlOneFlag = (value: string): boolean =>
  /^(yes|no|on|off|true|false|y|n)$/i.test(value.trim());
const COMMAND = 'a command, as text that is not empty';
const command = text(COMMAND).refine((value) => !value.includes('\0'), { error: COMMAND });

const TEST = 'a command, a list of commands, auto, or false';
/** `false` is no commands. */
export const test = z.unknown().transform((value, context): readonly string[] | 'auto' => {
  if (value === 'auto') return 'auto';
  if (value === false) return [];
  if (
    typeof value === 'string' &&
    value.trim() !== '' &&
    !value.includes('\0') &&
    !isYamlOneFlag(value)
  )
    return [value];
  if (!Array.isArray(value)) {
    context.addIssue({ code: 'custom', message: TEST });
    return z.NEVER;
  }
  const checked = z.array(command).safeParse(value);
  if (checked.success) return checked.data;
  for (const issue of checked.error.issues)
    context.addIssue({ code: 'custom', message: COMMAND, path: [...issue.path] });
  return z.NEVER;
});

const COMMIT = 'true, false, or a commit message';
export const commit = z
  .union([z.boolean(), z.string()], { error: COMMIT })
  .refine(
    (value) =>
      typeof value === 'boolean' ||
      (value.trim() !== '' && !value.includes('\0') && !isYamlOneFlag(value)),
    { error: COMMIT },
  );

const AUDIT =
  'the name of a model, a map of model and when (after_tests or before_approval), or false';
const auditor = text(AUDIT).refine((value) => !isYamlOneFlag(value), { error: AUDIT });
const auditMap = mapOf({
  model: auditor,
  when: oneOf(['after_tests', 'before_approval']).default('after_tests'),
});
/** A model that reads the change before it is final, and when it does. */
export type AuditSettings = Readonly<z.output<typeof auditMap>>;
const audit = z.union(
  [
    z.literal(false),
    auditor.transform((model) => ({ model, when: 'after_tests' as const })),
    auditMap,
  ],
  { error: AUDIT },
);

export const repository = z.string({ error: URL_WORDS }).superRefine((url, context) => {
  const message = urlFault(url);
  if (message !== null) context.addIssue({ code: 'custom', message });
});
const BASE = 'a branch, or the whole id of a commit, as text';
export const base = z.string({ error: BASE }).refine(isBase, { error: BASE });

const isPlace = (written: string): boolean =>
  written.length <= PATH_CHARS &&
  /^(~\/|\/)[^\0]*[^\0/]/.test(written) &&
  !written.split('/').includes('..');
const PLACE = 'an absolute path, or one that starts with ~/';
const place = z.string({ error: PLACE }).refine(isPlace, { error: PLACE });

/** Returns the kind of path that `sandbox.write` takes in place of this one; null: it takes this one. */
function expectedWrite(written: string): string | null {
  if (written.length > PATH_CHARS) return LONG;
  if (!isRelativeWrite(written)) {
    if (!isPlace(written)) return PLACE;
    return written.split('/').some(isGitDirectory) ? 'a path outside .git' : null;
  }
  const checked = checkDirectoryPath(written);
  if (!checked.ok) return checked.expected;
  return written.split('/').includes('..')
    ? 'a path inside the workspace without ".."'
    : writeRefusal(written.endsWith('/') ? `${checked.path}/` : checked.path);
}
const WRITE = 'a path inside the workspace, an absolute path, or one that starts with ~/';
/** Kept as written: whether an absolute path is inside depends on the workspace. */
const writePlace = z.string({ error: WRITE }).superRefine((written, context) => {
  const message = expectedWrite(written);
  if (message !== null) context.addIssue({ code: 'custom', message });
});
/** `of`: what is counted. */
export const wholeNumber = (least: number, most: number, of = '') => {
  const error = `a whole number ${of === '' ? '' : `of ${of} `}from ${least} to ${most}`;
  return z
    .number({ error })
    .refine((value) => Number.isInteger(value) && value >= least && value <= most, { error });
};
const SANDBOX = 'on, off, or a map of network, read, write, memory_mib, disk_mib and processes';
const NETWORK = 'true, false, or a map of allow';
const networkTarget = z.string({ error: TARGET }).superRefine((written, context) => {
  const read = readTarget(written);
  if (!read.ok) context.addIssue({ code: 'custom', message: read.expected });
});
/** True: public addresses. `allow`: these too. */
const network = z.union(
  [
    z.boolean(),
    mapOf(
      { allow: z.array(networkTarget, { error: 'a list of hosts, addresses and ranges' }) },
      NETWORK,
    ),
  ],
  { error: NETWORK },
);
export type NetworkSettings = Readonly<z.output<typeof network>>;
const sandboxMap = mapOf({
  network: network.default(false),
  read: z.array(place, { error: 'a list of paths' }).default([]),
  /** `workspaceWrites` and `outsideWrites` separate the paths. */
  write: z.array(writePlace, { error: 'a list of paths' }).default([]),
  /** Of one process, and of all of them together; null: what the machine has to spare. */
  memory_mib: wholeNumber(64, 1_048_576).nullable().default(null),
  /** Maximum that one command may write to its layer; null: the default of src/workspace/layers. */
  disk_mib: wholeNumber(16, 1_048_576).nullable().default(null),
  processes: wholeNumber(8, 100_000).nullable().default(null),
});
/** What a command that runs on a model's bytes sees in addition to the workspace and tools, and how much it may use. */
export type SandboxSettings = Readonly<z.output<typeof sandboxMap>>;
export const SANDBOX_ON: SandboxSettings = sandboxMap.parse({});
const sandbox = z
  .union([z.enum(['on', 'off']), sandboxMap], { error: SANDBOX })
  .transform((value) => (value === 'on' ? SANDBOX_ON : value));

const CREATE = 'true, false, or a list of gitignore-style patterns';
/** A gitignore-style pattern that can fit a file. */
export const pattern = z
  .string({ error: 'a gitignore-style pattern, as text that is not empty' })
  .superRefine((written, context) => {
    const expected = patternFault(written);
    if (expected !== null) context.addIssue({ code: 'custom', message: expected });
  });
/** A pattern that fits its own text alone. */
export const plainPattern = pattern.refine((written) => !written.startsWith('!'), {
  error: 'a pattern without "!": it has no other pattern to take files out of',
});
interface Issues {
  addIssue(issue: {
    readonly code: 'custom';
    readonly message: string;
    readonly path: number[];
  }): void;
}
/** Reports the patterns of a list that can fit no file, and a list that starts with one that takes files out. */
function checkPatterns(written: readonly string[], context: Issues): void {
  for (const [index, entry] of written.entries()) {
    const expected = patternFault(entry) ?? (index === 0 ? listFault(written) : null);
    if (expected !== null) context.addIssue({ code: 'custom', message: expected, path: [index] });
  }
}

export const patternsAs = (expected: string) =>
  z
    .array(z.string({ error: 'a gitignore-style pattern, as text that is not empty' }), {
      error: expected,
    })
    .superRefine(checkPatterns);
export const patterns = patternsAs('a list of gitignore-style patterns');

const create = z
  .union([z.boolean(), z.array(z.string({ error: CREATE }), { error: CREATE })], { error: CREATE })
  .superRefine((written, context) => {
    if (Array.isArray(written)) checkPatterns(written, context);
  });

/** When the tests run on workspace and proposal. */
export const VERIFY = ['before_approval', 'after_approval'] as const;

/** Keys of a job, of a plan's front matter and of `emend.yaml`. */
export const SHARED = {
  repair: flag,
  secrets: oneOf(['mask', 'ask', 'send']),
  requireCompleteSentinel: flag,
  audit,
  sandbox,
  baseline: oneOf(BASELINES),
  context: mapOf({ signatures: flag.default(true) }, 'a map of signatures: true or false'),
  verify: oneOf(VERIFY),
  create,
};
