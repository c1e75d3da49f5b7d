/**
 * `--peer`: aider on the same tasks with the same model, each in a git repository of its own, judged by the same check. Only Anthropic's API:
 * what `ANTHROPIC_BASE_URL` and `ANTHROPIC_API_KEY` name is what both ask.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { runProcess } from '../../../src/system/launcher.js';
import { peerOutput_chars } from './limits.js';
import { headOf, type TaskRun } from './run-task.js';
import { changedOutside, check, filesOf, judged, makeScratch } from './scratch.js';
import { standingOf, table } from './table.js';
import type { Task } from './task.js';

/** Names of runs -> aider's own names of its edit formats. */
export const PEER_FORMATS = { 'aider-whole': 'whole', 'aider-diff': 'diff' } as const;
export type PeerFormat = keyof typeof PEER_FORMATS;

/** aider's version. Throws an Error that says how to install it. */
export const peerVersion = (command: string): string => {
  try {
    return execFileSync(command, ['--version'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    }).trim();
  } catch (error) {
    const why = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);
    throw new Error(
      `--peer: ${command} --version does not run (${why}). Install aider:\n` +
        '  python3 -m venv aider-venv && aider-venv/bin/pip install aider-chat      (Python 3.10 to 3.12)\n' +
        'then say --peer aider-venv/bin/aider',
      { cause: error },
    );
  }
};

export interface PeerOptions {
  readonly command: string;
  readonly format: PeerFormat;
  readonly model: string;
  /** Holds a directory a run; removed afterwards. */
  readonly dir: string;
  readonly limit_ms: number;
  readonly env: NodeJS.ProcessEnv;
}

/** Whoever is asked agrees: aider applies what it reads, and nobody looks. */
export const runPeer = async (
  task: Task,
  { command, format, model, limit_ms, ...where }: PeerOptions,
) => {
  const dir = join(where.dir, `${task.id}.${format}`);
  rmSync(dir, { recursive: true, force: true });
  const workspace = makeScratch(join(dir, 'workspace'), task, new Map());
  try {
    const home = join(dir, 'home');
    mkdirSync(home);
    const [before, files] = [check(task, workspace), filesOf(workspace)];
    const { targetFiles, newFiles, outputFiles, deleteFiles, contextFiles, instructions } =
      task.job;
    const editable = new Set([...targetFiles, ...newFiles, ...outputFiles, ...deleteFiles]);
    const { output, timedOut, exit, seconds } = await runProcess({
      file: command,
      args: [
        ...[
          '--model',
          `anthropic/${model}`,
          '--edit-format',
          PEER_FORMATS[format],
          '--message',
          instructions,
        ],
        ...[
          '--yes-always',
          '--no-auto-commits',
          '--no-dirty-commits',
          '--no-gitignore',
          '--no-stream',
          '--no-pretty',
        ],
        ...[
          '--no-check-update',
          '--no-show-release-notes',
          '--no-show-model-warnings',
          '--analytics-disable',
        ],
        ...['--no-suggest-shell-commands', '--no-detect-urls', '--no-fancy-input'],
        ...[
          '--chat-history-file',
          join(home, 'chat.md'),
          '--input-history-file',
          join(home, 'input'),
        ],
        ...contextFiles.flatMap((path) => ['--read', path]),
        ...editable,
      ],
      cwd: workspace,
      env: peerEnv(where.env, home),
      timeout_s: limit_ms / 1000,
      maxOutput_bytes: 256 * 1024,
    });
    // Its cache is no edit.
    for (const name of readdirSync(workspace))
      if (name.startsWith('.aider')) rmSync(join(workspace, name), { recursive: true });
    const applied = changedOutside(files, filesOf(workspace), []).length > 0;
    const tokens = [
      ...output.matchAll(/^Tokens: ([\d.,]+k?) sent, (?:.*, )?([\d.,]+k?) received/gm),
    ];
    const sum = (group: number): number =>
      tokens.reduce((all, found) => all + countOf(found[group] ?? '0'), 0);
    const run: TaskRun = {
      ...headOf(task, format),
      ...judged(task, {
        workspace,
        files,
        applied,
        otherwise: timedOut ? 'time_limit' : 'nothing_applied',
      }),
      asked: false,
      message: `exit ${exit ?? 'by a signal'}: ${output.trim().slice(-peerOutput_chars)}`,
      attempts: [],
      fallback: [],
      refusals: [...output.matchAll(/^.*(?:did not conform|failed to match|FAILED).*$/gim)].map(
        ([line]) => line,
      ),
      calls: tokens.length,
      unknownCalls: 0,
      input_tokens: sum(1),
      output_tokens: sum(2),
      usd: null,
      seconds,
      before,
    };
    return { run, output };
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
};

/** The person's settings of aider stay out; the server is named as its library wants it, and no list of prices is fetched. */
const peerEnv = (env: NodeJS.ProcessEnv, home: string): Record<string, string> => {
  const ours = {
    HOME: home,
    ANTHROPIC_API_BASE: env.ANTHROPIC_BASE_URL,
    LITELLM_LOCAL_MODEL_COST_MAP: 'True',
  };
  return Object.fromEntries(
    Object.entries<string | undefined>({ ...env, ...ours }).flatMap(([name, value]) =>
      value === undefined || name.startsWith('AIDER_') ? [] : [[name, value]],
    ),
  );
};

/** As aider writes numbers: `345`, `1.2k`. */
const countOf = (text: string): number =>
  Math.round(Number(text.replaceAll(/[,k]/g, '')) * (text.endsWith('k') ? 1000 : 1));

/** Every other format against the peer's better one, on the tasks that both did. */
export const besidePeer = (runs: readonly TaskRun[]): string => {
  const solvedOf = (format: string) =>
    new Map(
      runs
        .filter((run) => run.format === format)
        .map((run) => [run.task, standingOf(run) === 'solved']),
    );
  const count = (of: ReadonlyMap<string, boolean>): number =>
    [...of.values()].filter(Boolean).length;
  const [peer] = Object.keys(PEER_FORMATS)
    .map((format) => ({ format, solved: solvedOf(format) }))
    .sort((a, b) => count(b.solved) - count(a.solved));
  const others = [...new Set(runs.map(({ format }) => format))].filter(
    (format) => !(format in PEER_FORMATS),
  );
  if (peer === undefined || peer.solved.size === 0 || others.length === 0) return '';
  return table(
    [
      'format',
      'tasks of both',
      'solved',
      `by ${peer.format}`,
      `of those that ${peer.format} fails`,
    ],
    others.map((format) => {
      const both = [...solvedOf(format)].filter(([task]) => peer.solved.has(task));
      const failed = both.filter(([task]) => peer.solved.get(task) === false);
      const solved = (among: readonly (readonly [string, boolean])[]): number =>
        among.filter(([, is]) => is).length;
      return [
        format,
        both.length,
        solved(both),
        both.length - failed.length,
        `${solved(failed)} of ${failed.length}`,
      ];
    }),
  );
};
