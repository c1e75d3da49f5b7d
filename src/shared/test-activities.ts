/** What crosses between workflows and the one activity that runs tests. */
import type { Failure } from './failure.js';
import type { BlobRef } from './ids.js';
import type {
  ActivityBase,
  Application,
  ChangedFiles,
  NoSandbox,
  SandboxChoice,
} from './proposal-activities.js';

/** What the tests run on. */
export type TestSubject =
  /** The files before the change. `again`: how often the reviewer asked for them again; earlier results do not count. */
  | {
      readonly kind: 'base';
      readonly again: number;
      /** The reviewer allowed one run outside the sandbox, if they fail in it. */
      readonly outside?: true;
    }
  /** The workspace with a proposal over it, before anything of the proposal is applied. */
  | {
      readonly kind: 'proposal';
      readonly proposal: BlobRef;
      /** The proposal's files that are to be applied. */
      readonly files: readonly string[];
      /** What is on disk of the change already. */
      readonly applications: readonly Application[];
      /** Which of the run's test runs it is, from 0. */
      readonly run: number;
      /** They run right before the apply, without outputs of earlier commands. */
      readonly isFresh?: true;
    }
  /** The workspace after an apply: where commands cannot get an overlay, or run without a sandbox. */
  | {
      readonly kind: 'applied';
      readonly applications: readonly Application[];
      readonly run: number;
    }
  /** A directory of a plan as it is: a worktree before the phases start, the plan's workspace after their merges. */
  | { readonly kind: 'workspace' };

export interface RunTestsInput extends ActivityBase {
  readonly workspace: string;
  readonly on: TestSubject;
  readonly commands: readonly string[];
  /** Of all commands together. */
  readonly timeout_s: number;
  readonly maxOutput_bytes: number;
  /** Names of records (`FoundTests`): the user confirmed these commands now; absent: none. */
  readonly remember?: readonly string[];
  /** Of a step, whose configuration is in it; absent: `emend.yaml` as it is now. */
  readonly snapshot?: BlobRef;
  /** Of a plan: the settings in its front matter. */
  readonly settings?: BlobRef;
  readonly sandbox?: SandboxChoice;
  /** The job's file is no part of the base. */
  readonly jobPath?: string;
  /** What the tests showed on the base (JSON blob, `BaseTests`); `known`: tests that failed there do not count. */
  readonly base?: BlobRef;
  readonly known?: true;
}

export interface TestOutput {
  readonly output: string;
  /** Names of tests that failed, as their runner prints them; empty if it names none. */
  readonly failed: readonly string[];
}
/** What the tests showed on the base, kept as a JSON blob. */
export interface BaseTests extends TestOutput {
  readonly outcome: 'pass' | 'fail' | 'missing';
  readonly summary: string;
  /** How often the name of each failed test was printed; null: not all of them are named. */
  readonly failing: Readonly<Record<string, number>> | null;
}

/** Outcomes of tests that do not speak against the change. */
export const PASSED: readonly string[] = ['pass', 'pass_with_warnings', 'no_tests'];

/** What `sandbox.write` came to in a run of the tests. Absent: nothing. */
export interface WrittenByTests {
  /** Files that the tests wrote or removed in the workspace. */
  readonly written?: readonly string[];
  /** Files at paths of `sandbox.write` that were not written all the same. */
  readonly notWritten?: readonly { readonly path: string; readonly reason: string }[];
}

/** Tests that ran to their end. */
export interface TestRun extends Failure, WrittenByTests {
  readonly outcome: 'pass' | 'pass_with_warnings' | 'fail_soft' | 'fail_hard' | 'no_tests';
  readonly on: TestSubject['kind'];
  readonly transient: boolean;
  readonly seconds: number;
  /** Hash of the files under the proposal; null: the files have none, so the result holds for this moment only. */
  readonly baseHash: string | null;
  /** Other files that the tests wrote and git does not ignore; absent: none. */
  readonly alsoChanged?: readonly string[];
  /** Paths of `sandbox.write` in the workspace, which `baseHash` leaves out; absent: none. */
  readonly writes?: readonly string[];
  /** Lines of the output with a warning, the first of them, and the tests that failed before the change; absent: none. */
  readonly warnings?: readonly string[];
}
/** Tests of the base that ran to their end. */
export interface BaseTestRun extends Pick<BaseTests, 'outcome' | 'summary'>, WrittenByTests {
  readonly on: 'base';
  readonly base: BlobRef;
  /** The tests fail only in the sandbox, for this reason; the outcome is that without it. */
  readonly blocked?: string;
  /** They failed in the sandbox and did not run outside it. `message`: what the reviewer needs to know to allow that. */
  readonly outside?: { readonly message: string; readonly isRefused: boolean };
}
/** Commands cannot get an overlay over this workspace: the tests run after the apply. Nothing was run. */
export interface NoOverlay {
  readonly outcome: 'no_overlay';
  readonly reason: string;
}
/** The tests of the base must run in the workspace itself, and another run has locked it. Nothing was run. */
export interface LockedWorkspace {
  readonly outcome: 'busy';
  /** Who has locked the workspace; `advice`: as of `ApplyResult`. */
  readonly holder: string;
  readonly advice?: string;
  /** Why commands cannot get an overlay over the workspace. */
  readonly noOverlay: string;
}
export type RunTestsResult = (
  | TestRun
  | BaseTestRun
  | NoSandbox
  | NoOverlay
  | LockedWorkspace
  | ChangedFiles
) & {
  /** Outputs are kept on the host for the next commands of the run, and must be removed when it ends. */
  readonly keepsOutputs?: true;
};

export interface ReleaseInput extends ActivityBase {
  readonly workspace: string;
  /** Fencing token of the lock to end; null: whichever the step holds. */
  readonly token: number | null;
}

export interface TestActivities {
  runTests(input: RunTestsInput): Promise<RunTestsResult>;
  /** Ends the step's lock on the workspace. */
  releaseWorkspace(input: ReleaseInput): Promise<object>;
  /** Removes what was kept on the host for the commands of the run. */
  removeLayers(input: ActivityBase): Promise<object>;
}
