/** Reads `emend.yaml` into a `ProjectConfig` in which every default is filled in. docs/configuration.md describes the keys. */
import { posix } from 'node:path';
import { z } from 'zod';
import { isSingleByteEncoding } from './encodings.js';
import { DEFAULT_MODEL, cacheAtMost, DEFAULT_MODELS, UNKNOWN_MODEL } from './models.js';
import { protectedBy } from './protected-paths.js';
import type { Checked, ModelEntry, ProjectConfig } from './types.js';
import { isRelativeWrite, writeRefusal } from './write-paths.js';
import { readMap, type Findings, type checkKeys } from '../source/check.js';
import * as schema from '../source/schemas.js';
import { withoutUndefined } from '../../shared/absence.js';
import {
  FORMATS,
  GUARDS,
  SEVERITIES,
  TOLERANCES,
  type Format,
  type Guard,
  type Tolerance,
} from '../../shared/formats.js';

const price = (() => {
  const what = 'US dollars per million tokens, from 0 to 100000, or null where it is not known';
  return z
    .union([z.number(), z.null()], { error: what })
    .refine((value) => value === null || (value >= 0 && value <= 100_000), { error: what });
})();

const size = schema.wholeNumber(1, 100_000_000, 'tokens');

const FORMAT_LIST = `a list of one or more of ${FORMATS.join(', ')}`;

const modelMap = schema.mapOf(
  {
    input_usd: price.optional(),
    output_usd: price.optional(),
    cacheRead_usd: price.optional(),
    cacheWrite_usd: price.optional(),
    context_tokens: size.optional(),
    maxOutput_tokens: size.optional(),
    thinking: schema.oneOf(['none', 'budget', 'effort']).optional(),
    formats: z
      .array(schema.format, { error: FORMAT_LIST })
      .min(1, { error: FORMAT_LIST })
      .optional(),
  },
  'a map of prices, sizes, thinking and formats',
);

const modelName = schema.text('the name of a model');

const route = schema.mapOf(
  {
    category: schema.text('a category, as text').optional(),
    complexity: schema.oneOf(['low', 'medium', 'high']).optional(),
    model: modelName,
    outputBudget_tokens: schema.limitValue('outputBudget_tokens').optional(),
  },
  'a map with `model`',
);

const command = schema.text('a command, as text that is not empty');

const ENCODING = 'the name of a single-byte encoding (latin1, windows-1251, koi8-r…)';

const encoding = z.string({ error: ENCODING }).refine(isSingleByteEncoding, { error: ENCODING });

/** Returns the schema of a map in which each of these names is optional and has a value of the same schema. */
const mapFrom = <Name extends string, Value extends z.ZodType>(
  names: readonly Name[],
  value: Value,
  what: string,
): ReturnType<typeof schema.mapOf<Record<Name, z.ZodOptional<Value>>>> =>
  schema.mapOf(
    Object.fromEntries(names.map((name) => [name, value.optional()])) as Record<
      Name,
      z.ZodOptional<Value>
    >,
    what,
  );

const threshold = (what: string) =>
  z
    .number({ error: what })
    .refine((value) => Number.isFinite(value) && value >= 0 && value <= 1000, { error: what });

const PLAN = {
  expansion: threshold('a score from 0 to 1000').optional(),
  tasks: threshold('a number of tasks from 0 to 1000').optional(),
  fileReferences: threshold('a number of files from 0 to 1000').optional(),
  replanLimit: threshold('a number of replans from 0 to 1000').optional(),
  fallbackModel: schema.text('the name of a model, as text that is not empty').optional(),
};

const VARIABLE =
  'the name of a variable that commands may see: none of ANTHROPIC_…, EMEND_… and TEMPORAL_…';

const variable = z
  .string({ error: VARIABLE })
  .regex(/^(?!(ANTHROPIC|EMEND|TEMPORAL)_)[A-Za-z_]\w*$/i, { error: VARIABLE });

const SHAPE = {
  model: modelName,
  routes: z.array(route, { error: 'a list of routes, each a map with `model`' }),
  models: z.record(z.string(), modelMap, {
    error: 'a map from model names to prices, sizes and formats',
  }),
  formats: mapFrom(FORMATS, schema.flag, 'a map from formats to true or false').refine(
    (formats) => FORMATS.some((name) => formats[name] !== false),
    {
      error: 'at least one format that is not false',
    },
  ),
  tolerances: mapFrom(
    Object.keys(TOLERANCES) as Tolerance[],
    schema.flag,
    'a map from tolerances to true or false',
  ),
  guards: mapFrom(
    Object.keys(GUARDS) as Guard[],
    schema.oneOf(SEVERITIES),
    'a map from guards to note, ask or refuse',
  ),
  rules: schema.filePaths,
  hints: z.array(schema.text('a hint, as text that is not empty'), {
    error: 'a list of hints, each a text',
  }),
  test: schema.test,
  test_discovery: schema.oneOf(['ask', 'trust']),
  commit: schema.flag,
  commitBody: schema.oneOf(['none', 'request']),
  hooks: schema.flag,
  env: z.array(variable, { error: 'a list of names of variables' }),
  sign: schema.flag,
  approval: schema.approval,
  approvers: schema.filePath,
  evidenceKey: schema.text('the path of an SSH key, or a public key, as text'),
  protected: z.array(schema.pattern, { error: 'a list of gitignore-style patterns' }),
  formatCommand: command,
  encodings: z.array(
    schema.mapOf({ pattern: schema.plainPattern, encoding }, 'a map with `pattern` and `encoding`'),
    {
      error: 'a list of maps with `pattern` and `encoding`',
    },
  ),
  ...schema.SHARED,
  plan: schema.mapOf(
    PLAN,
    'a map of expansion, tasks, fileReferences, replanLimit and fallbackModel',
  ),
  worktree: schema.mapOf({ setup: command.optional() }, 'a map of setup'),
  limits: schema.limitsMap,
} satisfies Record<string, z.ZodType>;

type Settings = ReturnType<typeof checkKeys<typeof SHAPE>>;

/** Names of the keys. A test checks that docs/configuration.md describes exactly these. */
export const CONFIG_KEYS = Object.keys(SHAPE);

/**
 * Reads the text of `emend.yaml`. If the workspace has no such file (`source` is null), every key has its default. Every problem has the code
 * `config_invalid` and begins with `emend.yaml:line:`.
 */
export function parseConfig(source: string | null): Checked<ProjectConfig> {
  const read = readMap(source ?? '', SHAPE, { file: 'emend.yaml', code: 'config_invalid' });
  if (!read.ok) return read;
  const { keys, findings } = read;
  explainModes(keys, findings);
  const config = withDefaults(keys);
  refuseProtectedWrites(config, findings);
  return findings.problems.length > 0
    ? { ok: false, problems: findings.problems }
    : { ok: true, value: config };
}

/** Reports limits of the file that contradict each other. */
function explainModes(settings: Settings, findings: Findings): void {
  const { maxLinesFullFile: full, maxLinesDiff: diff } = settings.limits ?? {};
  if (full !== undefined && diff !== undefined && full > diff)
    findings.add(
      ['limits', 'maxLinesFullFile'],
      `at most \`maxLinesDiff\` (${diff}): larger files use diffs`,
      full,
    );
}

/** Reports paths of `sandbox.write` that other keys of the file protect. */
function refuseProtectedWrites(
  { sandbox, protected: patterns }: ProjectConfig,
  findings: Findings,
): void {
  for (const [index, input] of (sandbox === 'off' ? [] : sandbox.write).entries()) {
    const path = posix.normalize(input);
    const expected = isRelativeWrite(input) ? writeRefusal(path, patterns) : null;
    if (expected !== null) findings.add(['sandbox', 'write', index], expected, input);
  }
}

/** Defaults of the keys that go into the configuration without a change. */
const DEFAULTS = {
  ...({
    model: DEFAULT_MODEL,
    rules: [],
    hints: [],
    test: null,
    commit: null,
    hooks: true,
  } as const),
  ...({ commitBody: 'none' } as const),
  ...({ env: [], sign: null, approval: 'ask', approvers: null, evidenceKey: null } as const),
  ...({ formatCommand: null, encodings: [], repair: true, secrets: 'mask' } as const),
  ...({
    requireCompleteSentinel: true,
    audit: false,
    sandbox: schema.SANDBOX_ON,
    baseline: 'ask',
    context: { signatures: true },
    verify: 'before_approval',
    create: null,
  } as const),
};

function withDefaults({ test_discovery, plan, worktree, ...settings }: Settings): ProjectConfig {
  const values = { ...DEFAULTS, ...withoutUndefined(settings) };
  const formats = FORMATS.map((name) => [name, settings.formats?.[name] ?? true]);
  return {
    v: 1,
    ...values,
    routes: (settings.routes ?? []).map(withoutUndefined),
    models: allModels(settings.models ?? {}),
    formats: Object.fromEntries(formats) as Record<Format, boolean>,
    tolerances: withoutUndefined(settings.tolerances ?? {}),
    guards: withoutUndefined(settings.guards ?? {}),
    ...withoutUndefined({ trustsTests: test_discovery === 'trust' ? (true as const) : undefined }),
    protected: protectedBy({
      rules: values.rules,
      commands: [values.formatCommand ?? '', worktree?.setup ?? ''],
      protected: settings.protected ?? [],
      approvers: values.approvers,
    }),
    ...withoutUndefined({
      plan: plan && withoutUndefined(plan),
      worktree: worktree && withoutUndefined(worktree),
    }),
    limits: withoutUndefined(settings.limits ?? {}),
  };
}

/** Returns the built-in models with the entries of the file. An entry with a price replaces the source of the prices, and only then. */
function allModels(entries: NonNullable<Settings['models']>): Readonly<Record<string, ModelEntry>> {
  const models: Record<string, ModelEntry> = { ...DEFAULT_MODELS };
  for (const [name, entry] of Object.entries(entries)) {
    const before = Object.hasOwn(models, name) ? models[name] : undefined;
    const hasOwnPrice = Object.keys(withoutUndefined(entry)).some((key) => key.endsWith('_usd'));
    const priced = withoutUndefined({
      priced: hasOwnPrice ? { source: 'emend.yaml', date: null } : undefined,
    });
    const cache = cacheAtMost(entry.input_usd);
    models[name] = { ...UNKNOWN_MODEL, ...cache, ...before, ...withoutUndefined(entry), ...priced };
  }
  return models;
}
