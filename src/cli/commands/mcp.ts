/**
 * `emend mcp`: a Model Context Protocol server on stdin and stdout, to which coding agents hand their changes over. It checks, starts and
 * tells. It answers no decision: it may not import what does (a rule of .dependency-cruiser.cjs).
 */
import { McpServer, type ToolCallback } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { z } from 'zod';
import type { Accepted } from '../../activities/index.js';
import { hideSecrets } from '../../client/runs/proposal.js';
import { refreshRun, resolveRun, type ResolvedRun } from '../../client/runs/resolve.js';
import { showRun, type RunView } from '../../client/runs/show.js';
import { startStep } from '../../client/runs/start.js';
import { watchRun } from '../../client/runs/watch.js';
import type { Emend } from '../../client/types.js';
import { FORMATS } from '../../shared/formats.js';
import {
  fail,
  problem,
  ProblemError,
  problemOn,
  PROBLEMS,
  valueOf,
} from '../../shared/problems.js';
import { cut, quoted, shellWord } from '../../shared/text.js';
import { putJson } from '../../stores/ports.js';
import { sha256 } from '../../system/hash.js';
import { version } from '../../system/version.js';
import { liveDevServer } from '../../temporal/dev-record.js';
import { jobOfText, readConfig } from '../../workspace/documents/index.js';
import { inspectTarget, whyHidden } from '../../workspace/files/index.js';
import type { Io } from '../io.js';
import { localWorkspace } from '../local/open.js';
import { applyToFiles, buildPatch, formatOf, type PatchOutcome } from '../local/patch.js';
import { serveUntilInterrupted, withEmend } from '../session.js';
import { reportOf } from './patch.js';

const WAIT_S = 38; // bound: `wait` watches a run this long; with connecting and the last look it returns within 45 s.
const ANSWER_CHARS = 4 * 1024 * 1024; // bound: Of an answer. A message of more than 10 MiB ends the server.
const TOO_LONG = problem(
  'limit_reached',
  'A message of more than 10 MiB ended the server.',
  'Start it again.',
);
const TEXT_CHARS = 20_000; // bound: Of what a change is for, and of the diff that an agent is shown; a person sees all of it.
const WORD_CHARS = 200; // bound: Of a title, a path, an agent's name.

const text = z
  .string()
  .regex(/^[^\0\p{Cs}]+$/u, 'expected text in Unicode, at least one character');
const line = text
  .max(WORD_CHARS)
  .regex(/^[^\p{C}\p{Zl}\p{Zp}]+$/u, 'expected one line of visible characters');
const files = z
  .record(line, line)
  .default({})
  .describe('sha-256 (hex) by path of files as you read them');
const ANSWER = z.strictObject({
  answer: text.max(ANSWER_CHARS),
  format: line.default('auto'),
  files,
});
const CHANGE = ANSWER.extend({
  title: line,
  why: text.max(TEXT_CHARS),
  commit: z.boolean().optional(),
});
const RUN = z.strictObject({
  run: z.string().regex(/^[0-9a-f]{32}$/, 'expected the id that propose_change gave'),
});
const WAIT = RUN.extend({ timeout_s: z.number().min(1).max(WAIT_S).default(WAIT_S) });

/** Refuses what no prompt shows unless a person names it: an agent would read it in the diff, or in the lines that a reason quotes. */
const failIfHidden = async (workspace: string, paths: Iterable<string>): Promise<void> => {
  for (const path of paths) {
    const reason = await whyHidden(workspace, path);
    if (reason !== null)
      fail(
        'file_not_offered',
        `${path} is not shown to an agent: ${reason}.`,
        `Leave it out. If it must change, ask the person to type: emend run -m "what to change" ${shellWord(path)}`,
      );
  }
};

/** As `emend patch --check`. Throws ProblemError `file_not_offered`, `usage`, `config_invalid`, `conflict` (a file is not as it was read). */
const check = async (
  workspace: string,
  { answer, format, files: read }: z.infer<typeof ANSWER>,
) => {
  const judged = await applyToFiles(
    workspace,
    valueOf(await readConfig(workspace)),
    formatOf(format, answer),
    answer,
  );
  await failIfHidden(workspace, [...judged.offered.keys(), ...createdBy(judged)]);
  for (const [path, { bytes }] of judged.offered)
    if (read[path] !== undefined && read[path] !== sha256(bytes ?? ''))
      fail(
        'conflict',
        `${path} is not as you read it.`,
        'Read it again, and send the change for the current content.',
      );
  const report = reportOf(workspace, judged, true);
  return { judged, told: { ...report, diff: cut(report.diff, TEXT_CHARS) } };
};

const createdBy = ({ outcome }: PatchOutcome): readonly string[] =>
  outcome.outcome === 'edited' ? [...outcome.files.keys()] : [];

/** The change as a job with its result: from here on a run as any other. One that is refused starts nothing. */
const propose = async (
  emend: Emend,
  workspace: string,
  change: z.infer<typeof CHANGE>,
  agent: string,
) => {
  const { judged, told } = await check(workspace, change);
  const { outcome, offered, format } = judged;
  if (outcome.outcome !== 'edited') return told;
  const patch = await buildPatch(emend.blobs, '', outcome, offered);
  const covers = patch.files.map(({ path }) => path);
  for (const path of covers) {
    const found = await inspectTarget(workspace, path, null);
    if (found.ok && found.value.target !== path)
      fail(
        'target_not_a_file',
        `${path} is a symbolic link to ${found.value.target}: name the file itself.`,
      );
  }
  const tolerances = outcome.tolerances.map(({ tolerance, path, line: at = null }) => ({
    tolerance,
    path,
    line: at,
  }));
  const accepted: Accepted = { seq: 1, after: [], covers, ...patch, tolerances, asked: false };
  const given = await putJson(emend.blobs, accepted);
  const { title, why, commit } = change;
  const instructions = `# ${title}\n\n${why}\n\nHanded over through \`emend mcp\` by ${quoted(agent, WORD_CHARS)}: change ${given.slice(-12)}.\n`;
  const wanted = FORMATS.find((name) => name === format);
  // A repair would ask a model. The same change a second time is the same job: its open run is found.
  const keys = {
    new_files: covers,
    repair: false,
    ...(wanted && { format: wanted }),
    ...(commit === undefined ? {} : { commit }),
  };
  const job = await jobOfText({ workspace, instructions, ...keys });
  const { stepKey } = await startStep(emend, { job, approval: 'ask', given });
  return look(emend, await resolveRun(emend, stepKey));
};

/** A run as its agent is told of it. The page's address lets nobody in. */
const look = async (emend: Emend, run: ResolvedRun) => {
  const fresh = await refreshRun(emend, run);
  const { stepKey, status, note } = await showRun(emend, fresh);
  const { state, doing, decision, result } = status;
  const page = `${(await liveDevServer(emend.home))?.pageUrl ?? 'what `emend web` prints'}/#/run/${stepKey}`;
  const call_again = result === null && ['running', 'waiting'].includes(state);
  const notes = [...new Set(fresh.archived.requests.flatMap((each) => each.note ?? []))];
  return {
    run: stepKey,
    page,
    state,
    call_again,
    doing,
    note,
    notes_of_persons: notes,
    decision,
    result,
  };
};

type Extra = Parameters<ToolCallback>[0];
const wait = async (
  emend: Emend,
  run: ResolvedRun,
  timeout_s: number,
  { signal, _meta, sendNotification }: Extra,
) => {
  const progressToken = _meta?.progressToken;
  let progress = 0;
  const onChange = async ({ status: { doing: message } }: RunView): Promise<undefined> => {
    if (progressToken === undefined) return;
    const params = { progressToken, progress: (progress += 1), message };
    await sendNotification({ method: 'notifications/progress', params });
  };
  await watchRun(emend, run, onChange, { signal, most_ms: timeout_s * 1000 });
  return look(emend, run);
};

type Act<S extends z.ZodType> = (given: z.infer<S>, extra: Extra) => Promise<object>;
export const mcpServer = (io: Io, workspace: string, using = withEmend): McpServer => {
  const server = new McpServer({ name: 'emend', version: version() });
  const add = <S extends z.ZodObject>(
    name: string,
    description: string,
    schema: S,
    act: Act<S>,
  ) => {
    const inputSchema: z.ZodObject = schema;
    server.registerTool(name, { description, inputSchema }, async (given, extra) => {
      const told = await act(given as z.infer<S>, extra).catch((error: unknown) => {
        const { code, message, next = PROBLEMS[code].hint } = problemOn()(error);
        return fail(code, `${message}\n${next}`);
      });
      return {
        content: [{ type: 'text', text: JSON.stringify(await hideSecrets(told), null, 1) }],
      };
    });
  };
  const onRun = (run: string, act: (emend: Emend, run: ResolvedRun) => Promise<object>) =>
    using(io, async (emend) => act(emend, await resolveRun(emend, run)));
  const checking =
    'Would a change (as a unified diff, or in another format of Emend) apply to the files? Writes nothing.';
  add('check_answer', checking, ANSWER, async (given) => (await check(workspace, given)).told);
  const proposing =
    'Hand over a change that check_answer takes: a person reviews it. Refused, it starts nothing.';
  add('propose_change', proposing, CHANGE, (given) =>
    using(io, (emend) =>
      propose(emend, workspace, given, server.server.getClientVersion()?.name ?? ''),
    ),
  );
  add('run_status', 'What a run does, waits for, and how it ended.', RUN, ({ run }) =>
    onRun(run, look),
  );
  const waiting = 'Wait until a run ends, at most 45 s. Where call_again is true, call it again.';
  add('wait', waiting, WAIT, ({ run, timeout_s }, extra) =>
    onRun(run, (emend, of) => wait(emend, of, timeout_s, extra)),
  );
  return server;
};

export const mcp = async (io: Io, flags: { readonly workspace?: string }): Promise<void> => {
  const server = mcpServer(io, await localWorkspace(io, flags.workspace));
  await serveUntilInterrupted(io, async () => {
    const transport = new StdioServerTransport();
    const send = transport.send.bind(transport);
    const unanswered = new Set<unknown>();
    // Whoever has nothing more to ask may still wait for answers. What is cancelled gets none.
    const done = new Promise<void>((resolve, reject) => {
      const look = (): unknown => process.stdin.readableEnded && unanswered.size === 0 && resolve();
      transport.onmessage = (read) => {
        if ('method' in read && 'id' in read) unanswered.add(read.id);
        else if ('method' in read && read.params?.requestId !== undefined)
          unanswered.delete(read.params.requestId);
      };
      transport.send = async (message) => {
        await send(message);
        if ('id' in message) unanswered.delete(message.id);
        look();
      };
      // It closes by itself where it read a message that is too long.
      server.server.onclose = () => reject(new ProblemError(TOO_LONG));
      process.stdin.once('end', look);
    });
    server.server.onerror = ({ message }) => io.err(message);
    await server.connect(transport);
    return { done, stop: () => server.close() };
  });
};
