/**
 * What commands end with, in a terminal and without one: the table in docs/reference.md, and the cases that exit-table.test.ts runs. A
 * new case is a row; only a new situation needs code, there.
 */
import { EXIT, type ExitCode } from '../../src/shared/problems.js';

/** What a person finds. Each is set up in exit-table.test.ts. */
export const SITUATIONS = {
  anywhere: 'anywhere',
  home: 'a used home, no server reachable',
  no_home: 'no home yet',
  bad_job: 'a job or plan with a mistake',
  answer: 'an answer that matches the files',
  bad_answer: 'an answer that does not match',
  big_answer: 'an answer over `maxAnswer_bytes`',
  saved_since: 'a file was saved after the change',
  committed: 'the run ends with its commit',
  tests_failed: 'the run ends: its tests failed',
  refused: 'the run ends: its target is not text',
  conflict: 'the run ends: files changed in the meantime',
  limit: 'the run ends: a limit was reached',
  no_model: 'the run ends: the model server refused',
  terminated: 'the run was terminated on the server',
  waits: 'the run waits for approval',
  answered: 'the run waits until someone else answers',
  stale: 'the run waits for another answer',
  no_worker: 'a server, no worker',
  under_way: 'the run continues; Ctrl-C',
  not_waiting: 'the run does not wait',
  none_waits: 'no run waits',
  nothing_open: 'no run is open; Ctrl-C',
  paused: 'the plan is paused',
  serving: 'it is serving; Ctrl-C',
} as const;
export type Situation = keyof typeof SITUATIONS;

interface End {
  readonly exit: ExitCode;
  /** What it does, for people. */
  readonly does: string;
  /** Words that it prints then, wherever. */
  readonly prints: string;
}
export interface ExitRow {
  readonly situation: Situation;
  /** After `emend`; RUN stands for the run. */
  readonly line: string;
  /** What the person types in the terminal. */
  readonly typed?: readonly string[];
  readonly terminal: End | 'same';
  readonly without: End;
  /** The end-to-end test, by its file and name, that shows it with a real server and worker. */
  readonly e2e?: readonly [file: string, name: string];
}

const { done, failed, usage, waiting, refused, conflict, limit, unavailable, interrupted } = EXIT;
const end = (exit: ExitCode, does: string, prints: string): End => ({ exit, does, prints });
type More = Pick<ExitRow, 'e2e' | 'typed'>;
/** The same in a terminal and without one. */
const same = (situation: Situation, line: string, without: End, more: More = {}): ExitRow => ({
  situation,
  line,
  without,
  terminal: 'same',
  ...more,
});
const differs = (
  situation: Situation,
  line: string,
  terminal: End,
  without: End,
  more: More = {},
): ExitRow => ({
  situation,
  line,
  without,
  terminal,
  ...more,
});

const ANSWERS = ['approve', 'skip', 'retry', 'revise --note x', 'abort', 'decide'] as const;
/** `decide` names the answer after the run. */
const answered = (answer: (typeof ANSWERS)[number]): string => {
  const [verb, ...flags] = answer.split(' ');
  return answer === 'decide' ? 'decide RUN approve' : [verb, 'RUN', ...flags].join(' ');
};

export const EXIT_TABLE: readonly ExitRow[] = [
  same('anywhere', '--help', end(done, 'prints its help', 'Usage: emend')),
  same('anywhere', 'help run', end(done, 'prints its help', 'Usage: emend run')),
  same('anywhere', '', end(usage, 'prints its help as an error', 'Usage: emend')),
  same(
    'anywhere',
    'decide RUN aprove',
    end(usage, 'names the nearest word', 'did you mean `approve`?'),
  ),
  same(
    'anywhere',
    'decide RUN approve --hunk a.js:1',
    end(usage, 'names the answer that takes hunks', 'answer select'),
  ),
  same(
    'anywhere',
    'run job.md --live --quiet',
    end(usage, 'names the flags', 'cannot be used with'),
  ),
  same('anywhere', 'completion bash', end(done, 'prints the script', '_emend()')),
  same(
    'anywhere',
    'completion tcsh',
    end(usage, 'names the shells', 'Allowed choices are bash, zsh, fish.'),
  ),
  same('anywhere', 'init', end(done, 'writes missing files', 'emend.yaml')),
  same('anywhere', 'new job new.md', end(done, 'writes it', 'wrote new.md')),
  same(
    'anywhere',
    'new job job.md',
    end(usage, 'keeps the existing file', 'job.md already exists'),
  ),
  same(
    'anywhere',
    'new idea x.md',
    end(usage, 'names the kinds', 'Allowed choices are job, plan.'),
  ),
  same('anywhere', 'plan check plan.md', end(done, 'prints phases and waves', '2 phases')),
  same('anywhere', 'plan score plan.md', end(done, 'prints the scores', 'Phase 1')),
  same('anywhere', 'plan show plan.md', end(done, 'prints levels and files', 'plan.md')),
  same('anywhere', 'plan expand phase plan.md 1', end(done, 'writes its file', 'expanded Phase 1')),
  same('anywhere', 'plan collapse phase plan.md 9', end(usage, 'reports the error', 'Phase 9')),
  same(
    'anywhere',
    'plan rollback plan.md x',
    end(usage, 'reports the error', 'the number of a phase'),
  ),
  same(
    'anywhere',
    'show',
    end(usage, 'names what is missing and its help', '(See `emend help show`.)'),
  ),
  same(
    'anywhere',
    'plan show',
    end(usage, 'names what is missing and its help', '(See `emend help plan show`.)'),
  ),
  same(
    'anywhere',
    'dev --port x',
    end(usage, 'reports the error before anything is started', 'from 0 to 65535'),
  ),
  same(
    'anywhere',
    'rehearse none.yaml',
    end(usage, 'names what is missing', 'none.yaml does not exist.'),
  ),
  same('anywhere', 'patch -', end(usage, 'reports that it received nothing', 'received nothing')),
  same(
    'anywhere',
    'run job.md --set foo=1',
    end(usage, 'lists the names that a run takes', 'unknown name'),
  ),

  same('bad_job', 'run job.md', end(usage, 'names file and line', 'job.md:2: ')),
  same('bad_job', 'plan check plan.md', end(usage, 'names file and line', 'plan.md:')),
  same('bad_job', 'plan run plan.md', end(usage, 'names file and line', 'plan.md:')),

  same('anywhere', 'list --text a', end(usage, 'names the flag of today', 'Use --search')),
  same('anywhere', 'list --workspace .', end(usage, 'names the flag of today', 'Use --repository')),
  same('no_home', 'list', end(done, 'reports it, creates none', 'No runs yet')),
  same('no_home', 'show abcd', end(failed, 'reports it, creates none', 'No runs yet')),
  same('no_home', 'undo', end(failed, 'reports it, creates none', 'No runs yet')),
  same('no_home', 'trust job.md', end(failed, 'reports it, creates none', 'No runs yet')),
  same('no_home', 'gc', end(failed, 'reports it, creates none', 'No runs yet')),
  same('no_home', 'stats', end(failed, 'reports it, creates none', 'No runs yet')),
  same(
    'no_home',
    'patch answer.txt --check',
    end(done, 'prints the diff, creates none', 'Would apply'),
  ),

  same('home', 'run job.md', end(unavailable, 'reports the problem', 'No Temporal server')),
  same(
    'home',
    'run job.md --dev',
    end(unavailable, 'reports the missing key before it starts one', 'ANTHROPIC_API_KEY'),
  ),
  same('home', 'plan run plan.md', end(unavailable, 'reports the problem', 'No Temporal server')),
  same('home', 'list', end(done, 'lists the archive, with a note', 'No Temporal server')),
  same('home', 'list --limit 0', end(usage, 'names the limits', 'a number from 1 to 1000')),
  same('home', 'list --before noon', end(usage, 'shows an example', 'emend list --before 20')),
  same('home', 'list --search x', end(done, 'reports that none fits', 'No run matches.')),
  same('home', 'list --plan 010_x.md', end(done, 'reports that none fits', 'No run matches.')),
  same('home', 'list --repository .', end(done, 'reports that none fits', 'No run matches.')),
  same('home', 'hosts', end(done, 'lists them, with a note', 'No Temporal server')),
  same('home', 'hosts adopt 3f2a', end(unavailable, 'reports the problem', 'No Temporal server')),
  same('home', 'stats', end(done, 'counts the archive', 'plans')),
  same('home', 'calls abcd', end(unavailable, 'cannot find the run', 'No run starts with')),
  same('home', 'show abcd', end(unavailable, 'cannot find the run', 'No run starts with "abcd"')),
  same('home', 'review', end(unavailable, 'cannot tell what is waiting', 'No Temporal server')),
  same('home', 'watch', end(unavailable, 'reports the problem', 'No Temporal server')),
  ...ANSWERS.map((answer) =>
    same('home', answered(answer), end(unavailable, 'sends nothing', 'No Temporal server')),
  ),
  same('home', 'move RUN --to .', end(unavailable, 'sends nothing', 'No Temporal server')),
  same(
    'home',
    'recover',
    end(done, 'recovers what needs no server', 'No interrupted change found'),
  ),
  same('home', 'gc', end(unavailable, 'removes nothing', 'No Temporal server')),
  same('home', 'doctor', end(unavailable, 'names what is missing', 'missing')),
  same('home', 'doctor --model', end(unavailable, 'reports the missing key', 'ANTHROPIC_API_KEY')),
  same('home', 'doctor --deep', end(done, 'finds nothing damaged', 'every file matches')),
  same('home', 'backup home.backup', end(done, 'writes the file', "emend restore 'home.backup'")),
  same('home', 'backup job.md', end(usage, 'writes nothing', 'job.md exists')),
  same('home', 'restore job.md', end(conflict, 'restores nothing', 'is not empty')),
  same('no_home', 'backup home.backup', end(failed, 'reports the problem', 'No runs yet')),
  same('no_home', 'restore job.md', end(failed, 'restores nothing', 'cannot be restored')),
  same('home', 'replay', end(unavailable, 'reports the problem', 'No Temporal server')),
  same('home', 'trust job.md', end(done, 'has nothing to accept', 'is trusted already')),
  same('home', 'trust none.md', end(usage, 'names the file', 'none.md: file not found')),
  same('home', 'undo', end(done, 'has nothing to do', 'Nothing to undo')),

  same('answer', 'patch answer.txt', end(done, 'applies it', 'Applied to 1 file')),
  same(
    'bad_answer',
    'patch answer.txt',
    end(refused, 'writes nothing, prints the reason', 'Not applied'),
  ),
  same('bad_answer', 'patch none.txt', end(usage, 'reports the error', 'File')),
  same(
    'big_answer',
    'patch answer.txt',
    end(limit, 'writes nothing, names the limit', 'maxAnswer_bytes'),
  ),
  same('saved_since', 'undo', end(conflict, 'writes nothing, names the file', 'changed since')),

  same('committed', 'run job.md', end(done, 'prints the commit', 'committed'), {
    e2e: [
      'test/e2e/cli.test.ts',
      '--yes approves, and the result is the exit code; a second run beside it has nothing to do with it',
    ],
  }),
  same('committed', 'watch RUN', end(done, "exits with the run's code", 'running')),
  same(
    'tests_failed',
    'run job.md',
    end(failed, 'prints the result', 'tests failed: nothing of the change was kept'),
  ),
  same('tests_failed', 'watch RUN', end(failed, "exits with the run's code", 'running')),
  same('refused', 'run job.md', end(refused, 'prints the reason', 'refused; nothing was written')),
  same('conflict', 'run job.md', end(conflict, 'prints the reason', 'failed')),
  same('limit', 'run job.md', end(limit, 'names the limit', 'failed')),
  same('no_model', 'run job.md', end(unavailable, 'prints the reason', 'failed')),
  same('terminated', 'run job.md', end(failed, 'points at `emend recover`', 'emend recover')),

  differs(
    'waits',
    'run job.md',
    end(waiting, 'asks; `q` leaves the decision open', 'waiting for you: approval'),
    end(waiting, 'prints what to type', 'emend approve '),
    {
      typed: ['q'],
      e2e: [
        'test/e2e/cli.test.ts',
        'q leaves it waiting with 3; revise asks for the note and for a new answer; x aborts with 1',
      ],
    },
  ),
  differs(
    'waits',
    'run job.md --json',
    end(waiting, 'asks nothing: one object', '"state":"waiting"'),
    end(waiting, 'one object', '"state":"waiting"'),
    {
      e2e: [
        'test/e2e/cli.test.ts',
        'the run pauses with 3 and prints what to type; typing that ends it',
      ],
    },
  ),
  differs(
    'answered',
    'run job.md --wait',
    end(waiting, 'asks anyway; `q` leaves the decision open', 'waiting for you: approval'),
    end(done, 'prints the decision, then the result', 'committed'),
    { typed: ['q'] },
  ),
  differs(
    'waits',
    'plan run plan.md',
    end(waiting, 'asks; `q` leaves the decision open', 'waiting for you: approval'),
    end(waiting, 'prints what to type', 'emend approve '),
    { typed: ['q'] },
  ),
  differs(
    'waits',
    'review',
    end(waiting, 'asks hunk by hunk; `q` leaves the decision open', 'waiting for you: approval'),
    end(waiting, 'prints the diff, and how to answer to stderr', 'waiting for you: approval'),
    {
      typed: ['q'],
      e2e: [
        'test/e2e/review.test.ts',
        'without a terminal: the diff byte for byte, and how to answer; hunks by number',
      ],
    },
  ),
  same('waits', 'show RUN', end(done, 'prints what to type', 'emend approve ')),
  same('waits', 'list', end(done, 'lists it', 'approval: emend show')),
  same('waits', 'hosts', end(done, 'lists them', 'this home')),
  same('waits', 'hosts adopt 3f2a', end(usage, 'names what is not known', 'begins with "3f2a"'), {
    e2e: [
      'test/e2e/hosts.test.ts',
      'a host that ended is named by all that look from another; a new home takes its place, and its run goes on',
    ],
  }),
  same('waits', 'diff RUN', end(done, 'prints the diff', '+two')),
  same('under_way', 'diff RUN', end(done, 'reports that there is no proposal', 'has no proposal')),
  same('waits', 'report RUN', end(done, 'prints Markdown', '# ')),
  same('waits', 'evidence RUN', end(usage, 'reports that the run has not ended', 'has not ended')),
  same(
    'waits',
    'evidence verify gone.json --repository .',
    end(usage, 'reports that there is nothing to check', 'gone.json does not exist.'),
    {
      e2e: [
        'test/e2e/evidence.test.ts',
        'each value changed in turn: named, and the signature does not hold',
      ],
    },
  ),
  same('waits', 'events RUN', end(done, 'prints the events so far', '')),
  same('waits', 'abort RUN', end(done, 'prints the result', 'done')),
  ...ANSWERS.filter((answer) => answer !== 'abort').map((answer) =>
    differs(
      'waits',
      `${answered(answer)} --no-wait`,
      end(done, 'shows decision, proposal and files, asks, and prints the result', 'done'),
      end(usage, 'sends nothing, prints what to type', ' --decision '),
      { typed: ['y'] },
    ),
  ),
  ...ANSWERS.filter((answer) => answer !== 'abort').map((answer) =>
    differs(
      'answered',
      answered(answer),
      end(done, "asks, follows the run, and exits with the run's code", 'committed'),
      end(usage, 'sends nothing, prints what to type', ' --decision '),
      {
        typed: ['y'],
        e2e: ['test/e2e/terminal.test.ts', 'emend approve in a terminal shows %s'],
      },
    ),
  ),
  differs(
    'waits',
    'revise RUN',
    end(usage, 'names what is missing, asks nothing', 'needs a note'),
    end(usage, 'sends nothing, prints what to type', ' --note '),
  ),
  differs(
    'waits',
    'approve RUN --file a.txt',
    end(waiting, 'sends nothing unless the person types `y`', 'Nothing was sent.'),
    end(usage, 'sends nothing, prints what to type', ' --file a.txt'),
    { typed: [''] },
  ),
  same(
    'stale',
    'approve RUN --decision 9-0',
    end(usage, 'prints the reply of the run', 'Another decision is open'),
    {
      e2e: [
        'test/e2e/cli.test.ts',
        'the run pauses with 3 and prints what to type; typing that ends it',
      ],
    },
  ),
  same('waits', 'move RUN --to .', end(usage, 'names the answers', 'is not an answer to approval')),
  same('waits', 'move RUN', end(usage, 'names the places', '--as-repository URL')),
  differs(
    'waits',
    'decide RUN revise --note x',
    end(waiting, 'sends nothing unless the person types `y`', 'Nothing was sent.'),
    end(usage, 'sends nothing, prints what to type', ' --decision '),
    { typed: [''] },
  ),
  same('waits', 'decide RUN keep', end(usage, 'names the answers', 'keep')),

  differs(
    'no_worker',
    'run job.md',
    end(interrupted, 'waits for one until Ctrl-C', 'emend worker'),
    end(
      unavailable,
      'leaves the run started',
      'is started and continues when a worker is available',
    ),
    {
      e2e: [
        'test/e2e/cli.test.ts',
        'no worker: 7 and what to type; an answer given meanwhile counts when one comes',
      ],
    },
  ),
  same('no_worker', 'review RUN', end(unavailable, 'prints how to start one', 'emend worker')),
  same('no_worker', 'review', end(unavailable, 'cannot tell what is waiting', 'emend worker')),
  same('no_worker', 'show RUN', end(done, 'prints the archive', 'it may be out of date')),

  same(
    'under_way',
    'run job.md',
    end(interrupted, 'leaves the run alive', 'continues without this terminal'),
    {
      e2e: ['test/e2e/cli.test.ts', 'Ctrl-C leaves the run alive: 130'],
    },
  ),
  same(
    'under_way',
    'plan run plan.md',
    end(interrupted, 'leaves the run alive', 'continues without this terminal'),
  ),
  same('under_way', 'watch RUN', end(interrupted, 'leaves the run alive', 'running')),
  {
    situation: 'answered',
    line: 'watch RUN',
    terminal: end(done, 'prints the commands and waits', 'emend approve'),
    without: end(waiting, 'prints the commands', 'emend approve'),
  },
  same('answered', 'watch RUN --wait', end(done, 'prints the commands and waits', 'emend approve')),
  same('answered', 'watch RUN --json', end(waiting, 'prints the decision', '"approval"')),
  same('under_way', 'events RUN --follow', end(interrupted, 'leaves the run alive', '')),

  same('not_waiting', 'review RUN', end(usage, 'prints what the run does', 'has no open decision')),
  same(
    'not_waiting',
    'approve RUN',
    end(usage, 'prints what the run does', 'has no open decision'),
  ),
  same('none_waits', 'review', end(usage, 'reports it', 'No run is waiting for you')),
  same('nothing_open', 'watch', end(interrupted, 'waits for a new run', 'No run is open')),
  same('none_waits', 'plan pause plan.md', end(usage, 'reports it', 'No run of plan is open')),
  same('none_waits', 'plan resume plan.md', end(usage, 'reports it', 'No run of plan is open')),
  same(
    'none_waits',
    'plan stop plan.md --after-phase',
    end(usage, 'reports it', 'No run of plan is open'),
  ),
  same('none_waits', 'plan drift plan.md more', end(usage, 'reports it', 'No run of plan is open')),
  same(
    'none_waits',
    'plan revise plan.md more',
    end(usage, 'prints what to type', "--report-scope-drift 'more'"),
  ),
  same('none_waits', 'plan status plan.md', end(usage, 'reports it', 'plan')),
  same(
    'not_waiting',
    'report RUN --out none/x.md',
    end(failed, 'names the file', 'Cannot write none/x.md: no such file'),
  ),
  same('none_waits', 'recover --undo abcdef', end(usage, 'reports it', 'abcdef')),

  same(
    'paused',
    'plan run plan.md',
    end(waiting, 'prints how to continue', "emend plan resume 'job.md'"),
  ),
  same(
    'paused',
    'plan pause plan.md',
    end(done, 'prints when', "continue with: emend plan resume 'plan.md'"),
  ),
  same('paused', 'plan resume plan.md', end(done, 'confirms it', 'continues')),
  same(
    'paused',
    'plan stop plan.md --after-phase',
    end(done, 'prints when', "cancel with: emend plan resume 'plan.md'"),
  ),
  same(
    'paused',
    'plan drift plan.md more',
    end(done, 'prints when', 'will be handled before the next phase'),
  ),
  same(
    'paused',
    'plan revise plan.md more',
    end(done, 'prints when', 'will be handled before the next phase'),
  ),
  same('serving', 'rehearse script.yaml --port 0', end(done, 'ends', 'Rehearsal of script.yaml')),
];

/** Commands of which no row is: until Ctrl-C they need a server, or the built page. What shows that they end with 0 then. */
export const SERVED: Readonly<Record<string, readonly [file: string, name: string]>> = {
  dev: ['test/e2e/dev-version.test.ts', 'Ctrl-C while it starts: it ends with what it had started'],
  mcp: ['test/e2e/mcp.test.ts', 'the SDK is loaded by this command alone'],
  web: ['test/e2e/doc-commands.test.ts', 'commands of README and docs'],
  worker: [
    'test/e2e/bad-input.test.ts',
    'a worker without a key says so, and the run waits for a person with the same words',
  ],
};
