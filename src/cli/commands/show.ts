import { realpath } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { RunFilter } from '../../shared/run.js';
import { isBlobRef, shownKey } from '../../shared/ids.js';
import { reading } from '../../client/open.js';
import type { ProposalVersion } from '../../client/archive/run.js';
import { proposalSince } from '../../client/runs/proposal.js';
import type { Emend } from '../../client/types.js';
import {
  sentContext,
  listCalls,
  readCall,
  type CallTexts,
  type ShownCall,
} from '../../client/runs/calls.js';
import { resolveRun, type ResolvedRun } from '../../client/runs/resolve.js';
import { runDiff, showWithPhases, testRuns, versionsTo } from '../../client/runs/show.js';
import { EXIT, fail, sentence, type ExitCode } from '../../shared/problems.js';
import { absentHome } from '../../stores/home.js';
import { type Io, type JsonFlag, asides, type QuietFlag } from '../io.js';
import { printFound, printJson } from '../json.js';
import { BASE_MOVED, findingText, SINCE_WORDS } from '../../shared/event-text.js';
import { printDiff, cell, line, plain, table } from '../render/text.js';
import { withEmend } from '../session.js';
import { ARCHIVES, releaseStaleLocks } from '../../client/ended/stale-locks.js';
import { LISTED_ARCHIVED_RUNS, listRuns, limitOf, type ListedRun } from '../../client/runs/list.js';
import { runIndex } from '../../client/run-index/index.js';
import { createApplyEngine } from '../../workspace/apply/index.js';
import {
  contextLines,
  staleLockLines,
  releasedLines,
  testLines,
  transactionLines,
  viewLines,
} from '../render/run.js';
import { count } from '../../shared/text.js';
import { callOutcome, tokensIn } from '../../shared/usage.js';

const PROGRESS_MS = 2_000; // bound: A list that reads many archives says so this often.

export interface ShowFlags extends JsonFlag {
  readonly tests?: true;
  readonly whole?: true;
  readonly context?: true;
  readonly blob?: string;
}

export const show = (io: Io, run: string, flags: ShowFlags): Promise<void> =>
  withEmend(io, async (opened) => {
    const { blob } = flags;
    if (blob !== undefined) {
      if (!isBlobRef(blob))
        return fail(
          'usage',
          `--blob ${blob}: expected sha256: and 64 hex digits, as a warning has them.`,
        );
      const bytes = await opened.blobs.get(blob);
      io.write(io.outIsTty ? plain(new TextDecoder().decode(bytes)) : bytes);
      return;
    }
    const to = { io, flags };
    const { resolved, view } = await reading(opened, async (emend) => {
      const it = await resolveRun(emend, run);
      const isWhole = flags.tests !== true && flags.context !== true;
      return { resolved: it, view: isWhole ? await showWithPhases(emend, it) : null };
    });
    const shown = shownKey(resolved.stepKey);
    if (view !== null) printFound(to, 'show', view, viewLines(view, shown, io.columns));
    else if (flags.tests === true) {
      const tests = await testRuns(opened, resolved, flags);
      printFound(to, 'show --tests', tests, testLines(tests, shown));
    } else {
      const sent = await sentContext(opened, resolved.stepKey);
      printFound(to, 'show --context', sent, contextLines(sent, shown));
    }
  });

const workspaceOf = ({ live, archived }: ResolvedRun, otherwise: string): string =>
  live?.memo?.workspace ?? archived.started?.workspace ?? otherwise;

/** Throws ProblemError `usage` where there is no such earlier version. */
const sinceVersion = async (emend: Emend, versions: readonly ProposalVersion[], wanted: string) => {
  const version = Number(wanted);
  const [earlier, later] = [versions[version - 1], versions.at(-1)];
  if (!/^\d+$/.test(wanted) || earlier === undefined || later === undefined || earlier === later) {
    const known = versions.length < 2 ? 'but there is none' : `1 to ${versions.length - 1}`;
    return fail('usage', `--since ${wanted}: expected the number of an earlier version, ${known}.`);
  }
  const { files, diff: text } = await proposalSince(emend, earlier.proposal, later.proposal);
  return {
    diff: text,
    since: { version, notes: versions.slice(version).flatMap(({ notes }) => notes), files },
  };
};

export const diff = (
  io: Io,
  run: string,
  options: JsonFlag & { readonly since?: string },
): Promise<void> =>
  withEmend(io, async (opened) => {
    const { resolved, found } = await reading(opened, async (emend) => {
      const it = await resolveRun(emend, run);
      return { resolved: it, found: await runDiff(emend, it) };
    });
    const versions = versionsTo(resolved, found?.proposal ?? null);
    const since =
      options.since === undefined ? null : await sinceVersion(opened, versions, options.since);
    if (options.json === true) printJson(io, 'diff', found && { ...found, ...since });
    else if (found === null)
      io.err(
        `Run ${shownKey(resolved.stepKey)} has no proposal; see \`emend show ${shownKey(resolved.stepKey)}\`.`,
      );
    else if (since !== null) {
      const { version, notes, files } = since.since;
      io.err(`version ${versions.length}, changes since version ${version}`);
      for (const note of notes) io.err(plain(`  note: ${note}`));
      for (const { path, is, baseMoved } of files)
        io.err(plain(`  ${path}: ${SINCE_WORDS[is]}${baseMoved ? `; ${BASE_MOVED}` : ''}`));
      await printDiff(io, since.diff, workspaceOf(resolved, io.cwd));
    } else {
      const before =
        versions.findLastIndex(({ answered }, index) => answered && index < versions.length - 1) +
        1;
      if (before > 0)
        io.err(
          `version ${versions.length}; since version ${before}: emend diff ${shownKey(resolved.stepKey)} --since ${before}`,
        );
      // Beside the diff, which goes out byte for byte.
      for (const finding of found.proposal.findings) io.err(plain(findingText(finding)));
      await printDiff(io, found.diff, workspaceOf(resolved, io.cwd));
    }
  });

/** As typed. */
interface ListFlags extends JsonFlag, QuietFlag, Pick<RunFilter, 'state' | 'plan'> {
  readonly search?: string;
  /** A directory of a repository, or its address. */
  readonly repository?: string;
  readonly limit?: string;
  readonly before?: string;
}

export const list = async (io: Io, flags: ListFlags): Promise<void> => {
  // A new home is no mistake: it has no runs.
  const absent = await absentHome(io.env);
  if (absent === null) return listOf(io, flags);
  const note = sentence(absent);
  const none = {
    runs: [],
    left_off: 0,
    older: null,
    open_left_off: 0,
    note,
    transactions: [],
    locks: [],
    released: [],
  };
  printFound({ io, flags }, 'list', none, [flags.quiet === true ? absent.message : note]);
};

/** Returns the workspace that runs of the repository have. */
const workspaceNamed = async (
  cwd: string,
  typed: string | undefined,
): Promise<string | undefined> => {
  if (typed === undefined || /^[a-z+]+:\/\/|^[\w.-]+@[\w.-]+:/i.test(typed)) return typed;
  const path = resolve(cwd, typed);
  return realpath(path).catch(() => path);
};

const listOf = (io: Io, flags: ListFlags): Promise<void> =>
  withEmend(io, async (emend) => {
    const { state, plan, search: text, repository, before, ...options } = flags;
    const limit = options.limit === undefined ? LISTED_ARCHIVED_RUNS : limitOf(options.limit);
    const workspace = await workspaceNamed(io.cwd, repository);
    const index = await runIndex(emend, { onProgress: progressOf(io) });
    // Whoever looks at the runs sees them as they are after recovery, as the start of a worker would leave them.
    const engine = createApplyEngine({ home: emend.home, blobs: emend.blobs });
    const transactions = await engine.recover(index.keys().slice(0, ARCHIVES.recover));
    const holds = await releaseStaleLocks(emend, ARCHIVES.list, index);
    const filter = { state, text, workspace, plan };
    const found = await listRuns(emend, { filter, limit, before: before ?? null });
    if (options.json === true) {
      printJson(io, 'list', {
        ...found,
        transactions,
        locks: holds.held,
        released: holds.released,
      });
      return;
    }
    for (const text of transactionLines(transactions)) io.err(text);
    for (const text of holds.released.flatMap(releasedLines)) io.err(text);
    const aside = asides(io, options);
    // No hint: the list is less than it seems.
    if (found.note !== null) io.err(found.note);
    if (found.runs.length === 0 && Object.values(filter).join('') !== '')
      io.out(`No run matches.${aside.after(' All runs: emend list')}`);
    else if (found.runs.length === 0)
      io.out(`No runs yet.${aside.after(' Start one with: emend run -m "what to change"')}`);
    else
      for (const text of table([
        ['run', 'state', 'started', 'job', ''],
        ...found.runs.map((run) => rowOf(run, io.columns)),
      ]))
        io.out(line(text, Math.max(io.columns, 80)));
    for (const text of holds.held.flatMap(staleLockLines)) io.out(text);
    if (found.open_left_off > 0)
      io.out(
        `${count(found.open_left_off, 'more open run')} not listed; narrow the list with --state, --search, --repository or --plan`,
      );
    if (found.left_off > 0)
      io.out(
        `${count(found.left_off, 'older run')} not listed${aside.after(` Next page: add --before ${found.older ?? ''}`)}`,
      );
  });

/** Shows how far a long build of the index is, as nothing else is printed meanwhile. */
const progressOf = (io: Io) => {
  let shown_ms = Date.now();
  return (read: number, all: number): void => {
    if (Date.now() - shown_ms < PROGRESS_MS) return;
    shown_ms = Date.now();
    io.err(`Building the index of runs: ${read} of ${all} are read.`);
  };
};

const rowOf = (run: ListedRun, columns: number): readonly string[] => [
  shownKey(run.stepKey),
  run.state,
  (run.startedAt ?? '').slice(0, 16).replace('T', ' '),
  cell(run.host?.name == null ? run.jobPath : `${run.jobPath} on ${run.host.name}`, 60, columns),
  cell(
    run.decision === null
      ? doingCell(run)
      : `${run.decision.reason}: emend show ${shownKey(run.stepKey)}`,
    60,
    columns,
  ),
];

/** The column of the state says it already. */
const doingCell = ({ doing, state }: ListedRun): string => (doing === state ? '' : doing);

// `emend calls RUN [N]`: what was asked of models, what they answered, what it cost.

interface CallsFlags extends JsonFlag {
  readonly prompt?: true;
  readonly answer?: true;
}

export const calls = (
  io: Io,
  run: string,
  n: string | undefined,
  flags: CallsFlags,
): Promise<ExitCode> =>
  withEmend(io, async (emend) => {
    if (n === undefined && (flags.prompt ?? flags.answer) === true)
      return fail(
        'usage',
        'Which call?',
        `See \`emend calls ${run}\`, then: emend calls ${run} N --prompt`,
      );
    if (n !== undefined && !/^[1-9]\d{0,5}$/.test(n))
      return fail(
        'usage',
        `"${n.slice(0, 40)}" is not the number of a call; expected 1 or more.`,
        `See: emend calls ${run}`,
      );
    const { stepKey } = await reading(emend, (told) => resolveRun(told, run));
    if (n !== undefined) {
      showCall(io, await readCall(emend, stepKey, Number(n)), flags);
      return EXIT.done;
    }
    const found = await listCalls(emend, stepKey);
    const none = `Run ${shownKey(stepKey)} has no model calls, or they were removed.`;
    const some = found.calls.length + found.unread.length > 0;
    printFound(
      { io, flags },
      'calls',
      { v: 1, stepKey, ...found },
      some ? callTable(found.calls) : [none],
    );
    for (const why of found.unread) io.err(`A model call is not listed: ${plain(why)}`);
    return found.unread.length === 0 ? EXIT.done : EXIT.failed;
  });

const showCall = (io: Io, call: ShownCall & CallTexts, flags: CallsFlags): void => {
  if (flags.json === true) {
    printJson(io, 'calls N', { v: 1, ...call });
    return;
  }
  // Piped, an answer goes out as it came, so that it can be applied.
  const print = (text: string): void =>
    io.write(`${io.outIsTty ? plain(text) : text}${text.endsWith('\n') ? '' : '\n'}`);
  const [prompt, answer] = [flags.prompt === true, flags.answer === true];
  if (answer && !prompt) {
    print(call.answer);
    return;
  }
  const sent = [{ role: 'system', text: call.system }, ...call.messages];
  if (!prompt) for (const text of callTable([call])) io.out(text);
  for (const { role, text } of prompt && !answer
    ? sent
    : [...sent, { role: 'answer', text: call.answer }])
    print(`[${role}]\n${text}`);
};

const callTable = (found: readonly ShownCall[]): readonly string[] =>
  table([
    [
      'call',
      'for',
      'file',
      'model',
      'attempt',
      'tokens in',
      'out',
      'US dollars',
      'seconds',
      'outcome',
    ],
    ...found.map(({ n, role, file, model, attempt, usage, ...call }) => [
      ...[String(n), role, plain(file), plain(model)],
      ...[attempt, tokensIn(usage), usage.output_tokens].map(String),
      ...[usage.usd?.toFixed(4) ?? 'not known', usage.seconds.toFixed(1), plain(callOutcome(call))],
    ]),
  ]);
