/** A note of several lines, written in the person's editor; where there is none, one line typed here. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gitEditor } from '../git-settings.js';
import type { Io } from '../io.js';

/** `about`: lines put below as comments. Null: the person thought better of it. */
export const writeNote = async (
  io: Io,
  dir: string,
  about: readonly string[],
  signal: AbortSignal,
): Promise<string | null> => {
  const editor = await gitEditor(io, dir);
  const edited = editor === null ? undefined : await editNote(io, editor, about);
  if (edited !== undefined) return edited;
  const typed = await io.ask('What should change? ', signal);
  return typed === null || typed.trim() === '' ? null : typed.trim();
};

/** Undefined: the editor could not be run. */
const editNote = async (io: Io, editor: string, about: readonly string[]): Promise<string | null | undefined> => {
  const folder = await mkdtemp(join(tmpdir(), 'emend-note-'));
  try {
    const file = join(folder, 'NOTE');
    const help = [
      'What should change? Lines that begin with # are left out; an empty note changes nothing.',
      '',
      ...about,
    ];
    await writeFile(file, `\n${help.map((text) => `# ${text}`.trimEnd()).join('\n')}\n`, { mode: 0o600 });
    const exit = await io.runTool(editor, [file], null);
    if (exit === null || exit === 126 || exit === 127) return undefined;
    if (exit !== 0) return null;
    const lines = (await readFile(file, 'utf8')).split('\n').filter((line) => !line.startsWith('#'));
    const note = lines.join('\n').trim();
    return note === '' ? null : note;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};
