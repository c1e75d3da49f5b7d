/**
 * The zod schemas that job files and `emend.yaml` share. The error of every schema is a phrase that completes "expected …". The checker
 * (`check.ts`) adds the file, the line and the key before it, and the received value after it.
 */
import { z } from 'zod';
import { isRelativeWrite, writeRefusal } from '../job/write-paths.js';
import {
  LONG,
  PATH_CHARS,
  checkDirectoryPath,
  checkFilePath,
  isGitDirectory,
  type CheckedPath,
} from './checked-paths.js';
import { TARGET, readTarget } from './network-targets.js';
import { listFault, patternFault } from './patterns.js';
import { FORMATS } from '../../shared/formats.js';
import { BASELINES, LIMITS, type LimitName, type LimitSpec } from '../../shared/limits.js';
import { URL_WORDS, isBase, urlFault } from '../../shared/repository.js';

/**
 * Returns the schema of a map that has only these keys. If a key is unknown, the message of the issue is the list of known keys, because the
 * checker writes the sentence itself.
 */
export const mapOf = <Shape extends z.ZodRawShape>(shape: Shape, what?: string) =>
  z.strictObject(shape, {
    error: ({ code }) => (code === 'unrecognized_keys' ? Object.keys(shape).join(', ') : what),
  });

export const LIMIT_NAMES = Object.keys(LIMITS) as LimitName[];

/** Returns whether a limit takes whole numbers only. US dollars may have cents; everything else is counted. */
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

/** The schema of each limit by its exact name. */
export const limitShape = Object.fromEntries(
  LIMIT_NAMES.map((name) => [name, limitValue(name).optional()]),
) as Record<LimitName, z.ZodOptional<ReturnType<typeof limitValue>>>;

export const limitsMap = mapOf(limitShape, 'a map of limits (docs/configuration.md names them)');

export const flag = z.boolean({ error: 'true or false' });

export const text = (what: string) =>
  z.string({ error: what }).refine((value) => value.trim() !== '', { error: what });

export const oneOf = <const Words extends readonly [string, ...string[]]>(words: Words) =>
  z.enum(words, { error: `one of ${words.join(', ')}` });

const pathBy = (what: string, check: (input: string) => CheckedPath) =>
  z.string({ error: what }).transform((input, context) => {
    const checked = check(input);
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

/**
 * Returns whether a text is a boolean of YAML 1.1. YAML 1.2 reads `yes`, `no`, `on` and `off` as text, and as a command or a commit message
 * they are always a mistake.
 */
const isYamlOneFlag = (value: string): boolean =>
  /^(yes|no|on|off|true|false|y|n)$/i.test(value.trim());

const COMMAND = 'a command, as text that is not empty';

const command = text(COMMAND).refine((value) => !value.includes('\0'), { error: COMMAND });

const TEST = 'a command, a list of commands, auto, or false';

/** The schema of `test:`. It turns one command into a list, and `false` into an empty list. */
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

/** The model that audits a change, and the stage of the run in which it does so. */
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

const isPlace = (input: string): boolean =>
  input.length <= PATH_CHARS &&
  /^(~\/|\/)[^\0]*[^\0/]/.test(input) &&
  !input.split('/').includes('..');

const PLACE = 'an absolute path, or one that starts with ~/';

const place = z.string({ error: PLACE }).refine(isPlace, { error: PLACE });

/** Returns the kind of path that `sandbox.write` expects instead of this one. Returns null if it accepts this one. */
function expectedWrite(input: string): string | null {
  if (input.length > PATH_CHARS) return LONG;
  if (!isRelativeWrite(input)) {
    if (!isPlace(input)) return PLACE;
    return input.split('/').some(isGitDirectory) ? 'a path outside .git' : null;
  }
  const checked = checkDirectoryPath(input);
  if (!checked.ok) return checked.expected;
  return input.split('/').includes('..')
    ? 'a path inside the workspace without ".."'
    : writeRefusal(input.endsWith('/') ? `${checked.path}/` : checked.path);
}

const WRITE = 'a path inside the workspace, an absolute path, or one that starts with ~/';

/** The schema of one path of `sandbox.write`. It does not normalize, because only the workspace shows whether an absolute path is inside. */
const writePlace = z.string({ error: WRITE }).superRefine((input, context) => {
  const message = expectedWrite(input);
  if (message !== null) context.addIssue({ code: 'custom', message });
});

/** Returns the schema of a whole number. `unit` names the counted things in the message. */
export const wholeNumber = (least: number, most: number, unit = '') => {
  const error = `a whole number ${unit === '' ? '' : `of ${unit} `}from ${least} to ${most}`;
  return z
    .number({ error })
    .refine((value) => Number.isInteger(value) && value >= least && value <= most, { error });
};

const SANDBOX = 'on, off, or a map of network, read, write, memory_mib, disk_mib and processes';

const NETWORK = 'true, false, or a map of allow';

const networkTarget = z.string({ error: TARGET }).superRefine((input, context) => {
  const reading = readTarget(input);
  if (!reading.ok) context.addIssue({ code: 'custom', message: reading.expected });
});

/** The network that commands reach. `true` opens public addresses; `allow` opens public addresses and the listed targets. */
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
  /** Paths inside and outside the workspace. `workspaceWrites` and `outsideWrites` separate them. */
  write: z.array(writePlace, { error: 'a list of paths' }).default([]),
  /** Maximum memory of one process, and of all processes of a command together. Null allows what the machine can spare. */
  memory_mib: wholeNumber(64, 1_048_576).nullable().default(null),
  /** Maximum size of the files that one command writes to its layer. Null means the default of src/workspace/layers. */
  disk_mib: wholeNumber(16, 1_048_576).nullable().default(null),
  processes: wholeNumber(8, 100_000).nullable().default(null),
});

/** Settings of the sandbox: what a command sees in addition to the workspace and its tools, and how much it may use. */
export type SandboxSettings = Readonly<z.output<typeof sandboxMap>>;

export const SANDBOX_ON: SandboxSettings = sandboxMap.parse({});

const sandbox = z
  .union([z.enum(['on', 'off']), sandboxMap], { error: SANDBOX })
  .transform((value) => (value === 'on' ? SANDBOX_ON : value));

const CREATE = 'true, false, or a list of gitignore-style patterns';

/** The schema of a gitignore-style pattern that can match a file. */
export const pattern = z
  .string({ error: 'a gitignore-style pattern, as text that is not empty' })
  .superRefine((input, context) => {
    const expected = patternFault(input);
    if (expected !== null) context.addIssue({ code: 'custom', message: expected });
  });

/** The schema of a single pattern, which has no list that a `!` could remove files from. */
export const plainPattern = pattern.refine((input) => !input.startsWith('!'), {
  error: 'a pattern without "!": it has no other pattern to take files out of',
});

interface Issues {
  addIssue(issue: {
    readonly code: 'custom';
    readonly message: string;
    readonly path: number[];
  }): void;
}

/** Reports each pattern of a list that cannot match a file, and a list whose first pattern removes files. */
function checkPatterns(list: readonly string[], context: Issues): void {
  for (const [index, entry] of list.entries()) {
    const expected = patternFault(entry) ?? (index === 0 ? listFault(list) : null);
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
  .superRefine((value, context) => {
    if (Array.isArray(value)) checkPatterns(value, context);
  });

/** The stages in which the tests can run on the workspace with the proposal. */
export const VERIFY = ['before_approval', 'after_approval'] as const;

/** The keys that a job, the front matter of a plan and `emend.yaml` have in common. */
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
