/**
 * Ends a git that waits for a named pipe. Git opens some files of a working tree by their names, whatever they are, and a command can make
 * a pipe of such a name in a workspace without an overlay.
 */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { problem, type Problem } from '../../shared/problems.js';
import { shellWord } from '../../shared/text.js';
import type { ProcessOutput } from '../../system/capture.js';
import { repositoryAround } from '../../system/known-workspaces.js';

const PATIENCE_MS = 2_000; // bound: Time after which Emend looks for a pipe that a running git may wait for.
const SEARCHED_ENTRIES = 200_000; // bound: Files and directories of a working tree in which it looks.

const OPENED_BY_NAME = new Set(['.gitignore', '.gitattributes', '.gitmodules', '.mailmap']);

/** Returns a named pipe below a directory that git would wait for; null: none was found. */
async function pipeBelow(top: string): Promise<string | null> {
  const directories = [top];
  let count = 0;
  for (let directory = directories.pop(); directory !== undefined; directory = directories.pop()) {
    for (const entry of await readdir(directory, { withFileTypes: true }).catch(() => [])) {
      count += 1;
      const path = join(directory, entry.name);
      if (entry.isFIFO() && OPENED_BY_NAME.has(entry.name)) return path;
      if (entry.isDirectory() && entry.name !== '.git') directories.push(path);
    }
    if (count > SEARCHED_ENTRIES) return null;
  }
  return null;
}

interface Watched {
  readonly run: ProcessOutput;
  /** The pipe for which git was ended; null: it was not. */
  readonly pipe: string | null;
}

/** Runs git in a directory. If it still runs after some time, and its working tree has such a pipe, the signal ends it. */
export async function endIfWaiting(
  cwd: string,
  start: (signal: AbortSignal) => Promise<ProcessOutput>,
): Promise<Watched> {
  const abort = new AbortController();
  let pipe: string | null = null;
  const look = async (): Promise<void> => {
    pipe = await pipeBelow(repositoryAround(cwd) ?? cwd);
    if (pipe !== null) abort.abort();
  };
  const timer = setTimeout(() => void look(), PATIENCE_MS);
  try {
    const run = await start(abort.signal);
    return { run, pipe: run.failure === null ? null : pipe };
  } finally {
    clearTimeout(timer);
  }
}

export const pipeProblem = (command: string, cwd: string, pipe: string): Problem =>
  problem(
    'git_failed',
    `git ${command} in ${cwd} waited for ${pipe}, which is a named pipe. Emend stopped it.`,
    `Type: rm ${shellWord(pipe)}. A command may have made it.`,
  );
