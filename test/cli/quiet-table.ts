/** What `--quiet` leaves out, by command: the table in docs/reference.md, and the cases of quiet.test.ts. */
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
      'the title, the link, events, what each file does, what `--yes` or the policy approved, that of `--dev` nothing stays',
    cases: [
      { situation: 'committed', line: 'run job.md', loses: 'Grow', keeps: 'committed' },
      { situation: 'tests_failed', line: 'run job.md', loses: 'Grow', keeps: 'its tests failed' },
      { situation: 'terminated', line: 'run job.md', loses: 'Grow', keeps: 'emend recover' },
      { situation: 'waits', line: 'run job.md', loses: 'Grow', keeps: 'emend approve ' },
      { situation: 'waits', line: 'run job.md', typed: ['q'], loses: 'Grow', keeps: 'waits for you: approval' },
      {
        situation: 'waits',
        line: 'run job.md --policy policy.yaml',
        loses: 'Grow',
        keeps: 'a.txt matches none of paths',
      },
      { situation: 'answered', line: 'run job.md --yes', loses: 'approved (--yes)', keeps: 'committed' },
      { situation: 'answered', line: 'run job.md --wait', loses: 'Grow', keeps: 'emend approve ' },
      { situation: 'no_worker', line: 'run job.md', loses: 'Grow', keeps: 'is started and goes on' },
    ],
  },
  {
    command: 'plan run',
    leavesOut: 'the same',
    cases: [
      { situation: 'waits', line: 'plan run plan.md', loses: 'Plan', keeps: 'emend approve ' },
      { situation: 'answered', line: 'plan run plan.md --wait', loses: 'Plan', keeps: 'emend approve ' },
    ],
  },
  { command: 'plan resume', leavesOut: 'the same, where it starts the plan again', cases: [] },
  {
    command: 'plan pause',
    leavesOut: 'how to take it back',
    cases: [{ situation: 'paused', line: 'plan pause plan.md', loses: 'resume', keeps: 'pauses before' }],
  },
  {
    command: 'plan stop',
    leavesOut: 'how to take it back',
    cases: [{ situation: 'paused', line: 'plan stop plan.md --after-phase', loses: 'resume', keeps: 'ends when' }],
  },
  {
    command: 'list',
    leavesOut: 'how to start a first run',
    cases: [
      { situation: 'no_home', line: 'list', loses: 'emend run', keeps: 'No runs yet' },
      { situation: 'none_waits', line: 'list', loses: 'emend run', keeps: 'No runs yet' },
    ],
  },
  {
    command: 'review',
    leavesOut: 'how to go on with the run',
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
    leavesOut: 'that the file is written',
    cases: [{ situation: 'waits', line: 'report RUN --out report.md', loses: 'wrote report.md', keeps: '' }],
  },
  {
    command: 'init',
    leavesOut: 'the next step',
    cases: [{ situation: 'anywhere', line: 'init', loses: 'Next: ', keeps: 'wrote emend.yaml' }],
  },
  {
    command: 'new',
    leavesOut: 'the next step',
    cases: [{ situation: 'anywhere', line: 'new job new.md', loses: 'Next: ', keeps: 'wrote new.md' }],
  },
  {
    command: 'patch',
    leavesOut: 'that `emend undo` puts the files back',
    cases: [{ situation: 'answer', line: 'patch answer.txt', loses: 'emend undo', keeps: 'Applied to 1 file' }],
  },
  { command: 'doctor', leavesOut: 'of `--model` the heading and what to write into `emend.yaml`', cases: [] },
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
    leavesOut: "that Ctrl-C ends it, fetching the Temporal CLI, the worker's log below warnings",
    cases: [],
  },
  { command: 'worker', leavesOut: 'that Ctrl-C ends it, its log below warnings', cases: [] },
  { command: 'web', leavesOut: 'that Ctrl-C ends it, and that an address is good once', cases: [] },
];

/** Why the others have no `--quiet`: all that they print is their result. */
export const ONLY_RESULTS: Readonly<Record<string, string>> = {
  show: 'one screen, with the commands that answer',
  diff: 'the diff, and beside it what guards found',
  'evidence verify': 'what does not hold',
  calls: 'calls, or the texts of one',
  stats: 'numbers',
  completion: 'a script',
  decide: 'what came of the answer',
  approve: 'what came of the answer',
  skip: 'what came of the answer',
  retry: 'what came of the answer',
  revise: 'what came of the answer',
  abort: 'what came of the answer',
  undo: 'what was put back, or why not',
  events: 'what happened',
  recover: 'what was found, and the commands that settle it',
  gc: 'what was removed',
  'plan check': 'what stands in the plan, notes too',
  'plan score': 'the scores',
  'plan show': 'where its parts are',
  'plan status': 'one screen',
  'plan drift': 'that it is taken up',
  'plan revise': 'that it is taken up',
  'plan expand': 'the files that were changed',
  'plan collapse': 'the files that were changed',
  'plan rollback': 'the commit, and the files that were changed',
};
