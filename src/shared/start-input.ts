/**
 * The inputs of the workflows `editStep` and `plan`, as anybody can type them: in the Temporal UI, with `temporal workflow start`, as the
 * action of a Schedule, as the arguments of a child workflow. The first activity checks them (src/documents/job/start-input.ts) and
 * returns all that the run goes by; nothing else reads them.
 */
import type { BlobRef } from './ids.js';
import type { Overrides } from './limits.js';
import type { Follows, PlanOptions } from './run.js';

/** Inputs that fit, which a refusal shows. */
export const INPUT_EXAMPLES = {
  job: '{"workspace": "/repo", "task": "Rename greet to hello", "targetFiles": ["a.js"], "test": "npm test"}',
  plan: '{"workspace": "/repo", "planFile": "plans/010_greet.md"}',
} as const;

/** The place that a run edits: `workspace`, or `repository` and `base`. */
interface Place {
  /** Absolute path of a directory on the host that has it. */
  readonly workspace?: string;
  /** Id, first digits of the id, or name of the host that has the workspace. Absent: one host alone serves the task queue, or is known. */
  readonly host?: string;
  /** URL of a git repository; any host makes a checkout of it. */
  readonly repository?: string;
  /** Branch or commit of the repository that the run begins at. */
  readonly base?: string;
  /** Branch that the commit is pushed to. Absent: a branch of the run's own. */
  readonly branch?: string;
}

/** Settings of one run. They are stronger than the job, the plan and `emend.yaml`. Each limit is a key of its own: `budget_usd`. */
interface Settings extends Overrides {
  /** `auto`: approved without a reviewer. */
  readonly approval?: 'ask' | 'auto';
  /** Hints for the prompts of this run. */
  readonly hints?: readonly string[];
  /** Commit that configuration is read from. Absent: it is read from the workspace. */
  readonly configurationCommit?: string;
}

/** The keys of a job that may accompany a `task`: those of docs/jobs.md, in camel case. */
export interface TaskKeys {
  readonly mode?: string;
  readonly targetFiles?: readonly string[];
  readonly newFiles?: readonly string[];
  readonly deleteFiles?: readonly string[];
  readonly contextFiles?: readonly string[];
  readonly outputDir?: string;
  readonly outputFile?: string;
  readonly outputFiles?: readonly string[];
  readonly format?: string;
  readonly category?: string;
  readonly complexity?: string;
  readonly effort?: string;
  readonly test?: string | readonly string[] | false;
  readonly commit?: boolean | string;
  readonly model?: string;
  readonly finalNewline?: boolean;
  readonly repair?: boolean;
  readonly secrets?: string;
  readonly audit?: string | object | false;
  readonly sandbox?: string | object;
  readonly baseline?: string;
  readonly context?: object;
  readonly verify?: string;
  readonly create?: boolean | object;
}

/** `{"workspace": "/repo", "task": "…", "targetFiles": ["a.js"]}`, or `{"workspace": "/repo", "jobFile": "jobs/first.md"}`. */
export interface EditStepInput extends Place, Settings, TaskKeys {
  /** Instructions in Markdown. */
  readonly task?: string;
  /** Name of the task in lists. Absent: its first words. */
  readonly name?: string;
  /** Path of a job file, relative to the workspace. */
  readonly jobFile?: string;
  /** A model picks the files, also if the task names some. */
  readonly pick?: true;
  /** An accepted result for all files of the job. Absent: the model is asked. */
  readonly acceptedResult?: BlobRef;
  /** The reviewed run that this one continues. */
  readonly follows?: Follows;
}

/** `{"workspace": "/repo", "planFile": "plans/010_demo.md"}`. */
export interface PlanInput extends Place, Settings, Partial<PlanOptions> {
  /** Path of the plan's document or folder, relative to the workspace. */
  readonly planFile: string;
}
