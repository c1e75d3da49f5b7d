/** Types of a job file and of `emend.yaml` after the check. */
import type { Format, GuardSettings, ToleranceSettings } from '../../shared/formats.js';
import type { Baseline, LimitName } from '../../shared/limits.js';
import type { Create } from '../../shared/pick.js';
import type { Priced } from '../../shared/usage.js';
import type { Problem } from '../../shared/problems.js';
import type { AuditSettings, SandboxSettings, VERIFY } from '../source/schemas.js';

/** Treatment of secrets in a request: Emend replaces them by placeholders, asks you, or sends them. */
type Secrets = 'mask' | 'ask' | 'send';

export type JobMode = 'edit' | 'standard' | 'sequential';
export type Complexity = 'low' | 'medium' | 'high';

/** Settings that a job, the front matter of a plan and `emend.yaml` have in common. */
export interface RunSettings {
  /** Whether the model may repair findings before you decide about them. */
  readonly repair: boolean;
  readonly secrets: Secrets;
  readonly requireCompleteSentinel: boolean;
  /** The model that audits a change, or false for no audit. */
  readonly audit: AuditSettings | false;
  /** The sandbox of commands. With `off`, your commands run on files that the model wrote without any protection. */
  readonly sandbox: SandboxSettings | 'off';
  readonly baseline: Baseline;
  /** With `signatures`, each call shows the model the signatures of related files: those that its files use and those that use them. */
  readonly context: { readonly signatures: boolean };
  /** The stage in which the tests run on workspace and proposal. Without an overlay they run after the apply, in the workspace. */
  readonly verify: (typeof VERIFY)[number];
  /** Files that the model may create. A missing key is null, which means true in a plan and false in a job file. */
  readonly create: Create | null;
}
type OrNull<T> = { readonly [K in keyof T]: T[K] | null };

export interface Job extends OrNull<RunSettings> {
  readonly v: 1;
  /** Path of the job file as the user typed it. It is relative to the workspace if the file is inside. */
  readonly path: string;
  /** First heading or file name. It is also the default subject of the commit message. */
  readonly title: string;
  /** The Markdown below the front matter, byte for byte. */
  readonly instructions: string;
  readonly mode: JobMode | null;
  /** Files to edit: normalized paths with `/`, relative to the workspace and inside it. */
  readonly targetFiles: readonly string[];
  /** Files to edit that need not exist yet. */
  readonly newFiles: readonly string[];
  /** Files that the change removes, without a call to the model. */
  readonly deleteFiles: readonly string[];
  readonly contextFiles: readonly string[];
  /** Paths of `output_file` and `output_files`, joined with `output_dir`. */
  readonly outputFiles: readonly string[];
  readonly outputDir: string | null;
  readonly format: Format | null;
  readonly category: string | null;
  /** Lowest complexity that routes assume. Null leaves the decision to the files. */
  readonly complexity: Complexity | null;
  /** Level of thinking that the request asks for. Null leaves the decision to the model. */
  readonly effort: Effort | null;
  /**
   * Test commands. With `auto`, Emend looks for a command and asks you. Null leaves the decision to `emend.yaml`, and an empty list
   * (`test: false`) means that no tests run.
   */
  readonly test: readonly string[] | 'auto' | null;
  /** The commit message, true for a message made from the title, or false for no commit. Null leaves the decision to `emend.yaml`. */
  readonly commit: boolean | string | null;
  readonly approval: 'ask' | 'auto' | null;
  readonly model: string | null;
  readonly finalNewline: boolean | null;
  /** URL of the repository, for a job that edits a checkout on a host instead of a directory. Null for a directory. */
  readonly repository: string | null;
  /** The branch or commit of the repository at which the job begins. */
  readonly base: string | null;
  readonly limits: Partial<Record<LimitName, number>>;
  /** Line of each front-matter key (`target_files`) and of each item of a list (`target_files.0`), for messages. Lines start at 1. */
  readonly lines: Readonly<Record<string, number>>;
}

/** Levels of thinking that a job may set: those of the Messages API above its own default. */
export const EFFORTS = ['high', 'xhigh', 'max'] as const;
export type Effort = (typeof EFFORTS)[number];

export interface ModelEntry {
  /** US dollars per million tokens. */
  readonly input_usd: number | null;
  readonly output_usd: number | null;
  readonly cacheRead_usd: number | null;
  readonly cacheWrite_usd: number | null;
  /** Source of the prices and their day (YYYY-MM-DD). Null if the entry has no prices. */
  readonly priced: Priced | null;
  /** How a request asks for thinking: with a budget of tokens, with a level from which the model makes its budget, or not at all. */
  readonly thinking: 'none' | 'budget' | 'effort';
  readonly context_tokens: number;
  readonly maxOutput_tokens: number;
  /** Formats that the model writes well. Without this key, it writes all of them well. */
  readonly formats?: readonly Format[];
}
interface Route {
  /** Category of jobs that the route matches. Without this key, it matches all. */
  readonly category?: string;
  readonly complexity?: Complexity;
  readonly model: string;
  readonly outputBudget_tokens?: number;
}

/** The configuration of `emend.yaml`, in which every default is filled in. */
export interface ProjectConfig extends RunSettings {
  readonly v: 1;
  readonly model: string;
  readonly routes: readonly Route[];
  readonly models: Readonly<Record<string, ModelEntry>>;
  readonly formats: Readonly<Record<Format, boolean>>;
  readonly tolerances: ToleranceSettings;
  readonly guards: GuardSettings;
  /** Files with project rules in addition to CLAUDE.md and AGENTS.md. The paths are relative to the workspace. */
  readonly rules: readonly string[];
  readonly hints: readonly string[];
  readonly test: readonly string[] | 'auto' | null;
  /** Set by `test_discovery: trust`: a test command that is committed runs without a question. Otherwise Emend asks you. */
  readonly trustsTests?: true;
  readonly commit: boolean | null;
  /** Body of a commit. With `request`, it contains the instructions of the job. */
  readonly commitBody: 'none' | 'request';
  readonly hooks: boolean;
  /** Names of environment variables of the worker that commands receive in addition to the usual ones. */
  readonly env: readonly string[];
  /** Whether commits are signed. Null leaves the decision to the configuration of git. */
  readonly sign: boolean | null;
  readonly approval: 'ask' | 'auto';
  /** Path of an OpenSSH `allowed_signers` file, relative to the workspace. Null if answers need no signature. */
  readonly approvers: string | null;
  /** The SSH key that signs the evidence of runs: a path, or a public key whose private key the SSH agent has. Null for no signature. */
  readonly evidenceKey: string | null;
  /** Gitignore-style patterns of files whose changes need your approval even under `approval: auto`. */
  readonly protected: readonly string[];
  /** Formatter that Emend runs on a scratch copy before it builds the proposal. `{file}` is replaced by the path. */
  readonly formatCommand: string | null;
  readonly encodings: readonly { readonly pattern: string; readonly encoding: string }[];
  /** `setup` is the command that prepares a new worktree for tests (docs/plans.md). */
  readonly worktree?: { readonly setup?: string };
  /** Thresholds of plans (docs/plans.md). Missing ones come from the project's notes for models, or have their defaults. */
  readonly plan?: Partial<
    Record<'expansion' | 'tasks' | 'fileReferences' | 'replanLimit', number>
  > & {
    /** Model that edits a phase again after its tests failed. Without it, the same model uses another format. */
    readonly fallbackModel?: string;
  };
  readonly limits: Partial<Record<LimitName, number>>;
}

export type Checked<T> = Readonly<
  { ok: true; value: T } | { ok: false; problems: readonly Problem[] }
>;
