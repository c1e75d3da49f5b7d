/** What a job file and `emend.yaml` say, checked. Pure: text in, values or problems with `file:line` out. */
import type { Format, GuardSettings, ToleranceSettings } from '../../shared/formats.js';
import type { Baseline, LimitName } from '../../shared/limits.js';
import type { Create } from '../../shared/pick.js';
import type { Priced } from '../../shared/usage.js';
import type { Problem } from '../../shared/problems.js';
import type { AuditSettings, SandboxSettings, VERIFY } from '../source/schemas.js';

/** What becomes of secrets in a request: placeholders stand for them, a person is asked, or they are sent. */
export type Secrets = 'mask' | 'ask' | 'send';

export type JobMode = 'edit' | 'standard' | 'sequential';
export type Complexity = 'low' | 'medium' | 'high';

/** What a job, the front matter of a plan and `emend.yaml` may say alike. */
export interface RunSettings {
  /** Is the model asked about findings before a person is? */
  readonly repair: boolean;
  readonly secrets: Secrets;
  readonly requireCompleteSentinel: boolean;
  /** The model that audits a change; false: none does. */
  readonly audit: AuditSettings | false;
  /** For a person's commands; `off`: they run on a model's bytes as they are. */
  readonly sandbox: SandboxSettings | 'off';
  readonly baseline: Baseline;
  /** `signatures`: is each call told of the files that its own use, and that use those? */
  readonly context: { readonly signatures: boolean };
  /** When the tests run on workspace and proposal. Without an overlay they run after the apply, in the workspace. */
  readonly verify: (typeof VERIFY)[number];
  /** Null: not said; a plan takes that as true, a job file as false. */
  readonly create: Create | null;
}
type OrNull<T> = { readonly [K in keyof T]: T[K] | null };

export interface Job extends OrNull<RunSettings> {
  readonly v: 1;
  /** As typed, relative to the workspace where it is inside. */
  readonly path: string;
  /** First heading or file name; the commit message's default subject. */
  readonly title: string;
  /** The Markdown below the front matter, byte for byte. */
  readonly instructions: string;
  readonly mode: JobMode | null;
  /** Workspace-relative, `/`-separated, normalised, inside. */
  readonly targetFiles: readonly string[];
  /** Targets that need not exist yet; their format goes by size as that of the others. */
  readonly newFiles: readonly string[];
  /** Files that the change removes: no model is asked about them. */
  readonly deleteFiles: readonly string[];
  readonly contextFiles: readonly string[];
  /** `output_dir` joined with `output_file`/`output_files`. */
  readonly outputFiles: readonly string[];
  readonly outputDir: string | null;
  readonly format: Format | null;
  readonly category: string | null;
  /** At least so, for `routes`; null: by its files alone. */
  readonly complexity: Complexity | null;
  /** How hard the model is to think; null: as it does by itself. */
  readonly effort: Effort | null;
  /** Commands; `auto`: look for one and ask; null: none said (emend.yaml decides). `[]`: none wanted (`test: false`). */
  readonly test: readonly string[] | 'auto' | null;
  /** false, true (message made from the title) or the message; null: not said. */
  readonly commit: boolean | string | null;
  readonly approval: 'ask' | 'auto' | null;
  readonly model: string | null;
  readonly finalNewline: boolean | null;
  /** Its URL, where no directory is edited but a checkout of it that each host makes; null: not said. */
  readonly repository: string | null;
  /** The branch or commit that it begins at. */
  readonly base: string | null;
  readonly limits: Partial<Record<LimitName, number>>;
  /** 1-based line of each front-matter key, for messages: `target_files`, `target_files.0`… */
  readonly lines: Readonly<Record<string, number>>;
}

/** The levels of the Messages API above its own default that a job may ask for. */
export const EFFORTS = ['high', 'xhigh', 'max'] as const;
export type Effort = (typeof EFFORTS)[number];

export interface ModelEntry {
  /** US dollars per million tokens. */
  readonly input_usd: number | null;
  readonly output_usd: number | null;
  readonly cacheRead_usd: number | null;
  readonly cacheWrite_usd: number | null;
  /** Where the prices are from, and of which day (YYYY-MM-DD; null: not said). Null: there are none. */
  readonly priced: Priced | null;
  /** `budget`: a budget of tokens; `effort`: a level, of which the model makes its own budget; `none`: neither is sent. */
  readonly thinking: 'none' | 'budget' | 'effort';
  readonly context_tokens: number;
  readonly maxOutput_tokens: number;
  /** Formats that the model answers well in; absent: all. */
  readonly formats?: readonly Format[];
}
export interface Route {
  /** Absent: any. */
  readonly category?: string;
  readonly complexity?: Complexity;
  readonly model: string;
  readonly outputBudget_tokens?: number;
}

/** `emend.yaml`, every key with its default filled in. */
export interface ProjectConfig extends RunSettings {
  readonly v: 1;
  readonly model: string;
  readonly routes: readonly Route[];
  readonly models: Readonly<Record<string, ModelEntry>>;
  readonly formats: Readonly<Record<Format, boolean>>;
  readonly tolerances: ToleranceSettings;
  readonly guards: GuardSettings;
  /** Project rules in addition to CLAUDE.md and AGENTS.md: workspace-relative paths. */
  readonly rules: readonly string[];
  readonly hints: readonly string[];
  readonly test: readonly string[] | 'auto' | null;
  /** `test_discovery: trust`: what a person committed as a test command runs unasked. Absent: a person is asked. */
  readonly trustsTests?: true;
  readonly commit: boolean | null;
  /** `request`: a commit's body holds the job's instructions. */
  readonly commitBody: 'none' | 'request';
  readonly hooks: boolean;
  /** Names of variables of the worker's environment that commands get in addition to the usual ones. */
  readonly env: readonly string[];
  /** Null: as git is configured. */
  readonly sign: boolean | null;
  readonly approval: 'ask' | 'auto';
  /** Workspace-relative path of an OpenSSH `allowed_signers` file; null: decisions need no signature. */
  readonly approvers: string | null;
  /** The SSH key that signs evidence of runs: a path, or a public key that the agent holds; null: it is unsigned. */
  readonly evidenceKey: string | null;
  /** Gitignore-style patterns whose changes ask even under `approval: auto`. */
  readonly protected: readonly string[];
  /** Formatter command run on a scratch copy before the proposal is built; `{file}` is the path. Null: none. */
  readonly formatCommand: string | null;
  readonly encodings: readonly { readonly pattern: string; readonly encoding: string }[];
  /** `setup`: a person's command that makes a new worktree ready to be tested (docs/plans.md). */
  readonly worktree?: { readonly setup?: string };
  /** Thresholds of plans (docs/plans.md); those that are not here come from elsewhere. */
  readonly plan?: Partial<
    Record<'expansion' | 'tasks' | 'fileReferences' | 'replanLimit', number>
  > & {
    /** Asked after a phase's tests failed; absent: another format is. */
    readonly fallbackModel?: string;
  };
  readonly limits: Partial<Record<LimitName, number>>;
}

export type Checked<T> = Readonly<
  { ok: true; value: T } | { ok: false; problems: readonly Problem[] }
>;
