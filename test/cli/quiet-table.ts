/** What `--quiet` leaves out, by command: the table in docs/reference.md, and the cases of io.test.ts. */
import type { Situation } from './exit-table.js';

export interface QuietRow {
  /** As the program calls it. */
  readonly command: string;
  /** What is left out, for people. */
  readonly leavesOut: string;
  /** None: they serve, with a server or the built page; the trials of `doctor` are in doctor-model.test.ts. */
  readonly cases: readonly QuietCase[];
}
interface QuietCase {
  readonly situation: Situation;
  /** After `emend`, without `--quiet`. */
  readonly line: string;
  /** In a terminal, where this is typed. */
  readonly typed?: readonly string[];
  /** Words that only go without `--quiet`, and words that stay. */
  readonly loses: string;
  readonly keeps: string;
}

export const QUIET_TABLE: readonly QuietRow[] = [
  {
    command: 'run',
    leavesOut:
      'the title, the link, events, progress of each file, what `--yes` or the policy approved, that `--dev` stops everything',
    cases: [
      { situation: 'committed', line: 'run job.md', loses: 'Grow', keeps: 'committed' },
      {
        situation: 'tests_failed',
        line: 'run job.md',
        loses: 'Grow',
        keeps: 'tests failed: nothing of the change was kept',
      },
      { situation: 'terminated', line: 'run job.md', loses: 'Grow', keeps: 'emend recover' },
      { situation: 'waits', line: 'run job.md', loses: 'Grow', keeps: 'emend approve ' },
      {
        situation: 'waits',
        line: 'run job.md',
        typed: ['q'],
        loses: 'Grow',
        keeps: 'waiting for you: approval',
      },
      {
        situation: 'waits',
        line: 'run job.md --policy policy.yaml',
        loses: 'Grow',
        keeps: 'a.txt matches none of paths',
      },
      {
        situation: 'answered',
        line: 'run job.md --yes',
        loses: 'approved (--yes)',
        keeps: 'committed',
      },
      { situation: 'answered', line: 'run job.md --wait', loses: 'Grow', keeps: 'emend approve ' },
      {
        situation: 'no_worker',
        line: 'run job.md',
        loses: 'Grow',
        keeps: 'is started and continues',
      },
    ],
  },
  {
    command: 'plan run',
    leavesOut: 'the same',
    cases: [
      { situation: 'waits', line: 'plan run plan.md', loses: 'Plan', keeps: 'emend approve ' },
      {
        situation: 'answered',
        line: 'plan run plan.md --wait',
        loses: 'Plan',
        keeps: 'emend approve ',
      },
    ],
  },
  { command: 'plan resume', leavesOut: 'the same, if it starts the plan again', cases: [] },
  {
    command: 'plan pause',
    leavesOut: 'how to reverse it',
    cases: [
      {
        situation: 'paused',
        line: 'plan pause plan.md',
        loses: 'resume',
        keeps: 'will pause before',
      },
    ],
  },
  {
    command: 'plan stop',
    leavesOut: 'how to reverse it',
    cases: [
      {
        situation: 'paused',
        line: 'plan stop plan.md --after-phase',
        loses: 'resume',
        keeps: 'will end after',
      },
    ],
  },
  {
    command: 'list',
    leavesOut: 'how to start a first run, and how to list all of them',
    cases: [
      { situation: 'no_home', line: 'list', loses: 'emend run', keeps: 'No runs yet' },
      { situation: 'none_waits', line: 'list', loses: 'emend run', keeps: 'No runs yet' },
      {
        situation: 'none_waits',
        line: 'list --search x',
        loses: 'All runs: emend list',
        keeps: 'No run matches',
      },
    ],
  },
  {
    command: 'review',
    leavesOut: 'how to continue with the run',
    cases: [
      {
        situation: 'waits',
        line: 'review RUN',
        typed: ['q'],
        loses: 'Again: emend review',
        keeps: 'Nothing more was sent',
      },
    ],
  },
  {
    command: 'watch',
    leavesOut: 'that no run is open yet',
    cases: [{ situation: 'nothing_open', line: 'watch', loses: 'No run is open', keeps: '' }],
  },
  {
    command: 'report',
    leavesOut: 'the confirmation',
    cases: [
      {
        situation: 'waits',
        line: 'report RUN --out report.md',
        loses: 'wrote report.md',
        keeps: '',
      },
    ],
  },
  {
    command: 'init',
    leavesOut: 'the next step',
    cases: [{ situation: 'anywhere', line: 'init', loses: 'Next: ', keeps: 'wrote emend.yaml' }],
  },
  {
    command: 'new',
    leavesOut: 'the next step',
    cases: [
      { situation: 'anywhere', line: 'new job new.md', loses: 'Next: ', keeps: 'wrote new.md' },
    ],
  },
  {
    command: 'patch',
    leavesOut: 'the hint about `emend undo`',
    cases: [
      {
        situation: 'answer',
        line: 'patch answer.txt',
        loses: 'emend undo',
        keeps: 'Applied to 1 file',
      },
    ],
  },
  {
    command: 'doctor',
    leavesOut: 'with `--model`, the heading and what to add to `emend.yaml`',
    cases: [],
  },
  {
    command: 'rehearse',
    leavesOut: "what to type in the worker's terminal",
    cases: [
      {
        situation: 'serving',
        line: 'rehearse script.yaml --port 0',
        loses: 'export ',
        keeps: 'Rehearsal of script.yaml',
      },
    ],
  },
  {
    command: 'dev',
    leavesOut: "that Ctrl-C stops it, fetching the Temporal CLI, the worker's log below warnings",
    cases: [],
  },
  { command: 'worker', leavesOut: 'that Ctrl-C stops it, its log below warnings', cases: [] },
  { command: 'web', leavesOut: 'that Ctrl-C stops it, and that an address works once', cases: [] },
];

/** Why the others have no `--quiet`: all that they print is their result. */
export const ONLY_RESULTS: Readonly<Record<string, string>> = {
  show: 'one screen, with the commands that answer',
  diff: 'the diff, and the findings of guards',
  'evidence verify': 'what does not match',
  'hosts adopt': 'which host the home is now, and the runs that need it',
  backup: 'the file, and how it is restored',
  restore: 'the home, and runs that had not ended',
  replay: 'runs that would not replay',
  calls: 'calls, or the texts of one',
  mcp: 'messages of the protocol',
  trust: 'why a file was not trusted, and that it is now',
  stats: 'numbers',
  completion: 'a script',
  decide: 'the result of the answer',
  approve: 'the result of the answer',
  skip: 'the result of the answer',
  retry: 'the result of the answer',
  revise: 'the result of the answer',
  abort: 'the result of the answer',
  move: 'the result of the answer',
  undo: 'what was restored, or why not',
  events: 'the events',
  recover: 'what was found, and the commands to resolve it',
  gc: 'what was removed',
  'plan check': 'the contents of the plan, and notes',
  'plan score': 'the scores',
  'plan show': 'the files of its parts',
  'plan status': 'one screen',
  'plan drift': 'the confirmation',
  'plan revise': 'the confirmation',
  'plan expand': 'the files that were changed',
  'plan collapse': 'the files that were changed',
  'plan rollback': 'the commit, and the files that were changed',
};
