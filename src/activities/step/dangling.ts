/**
 * Definitions that go away while their names are still used: in the files of the proposal, in other target files, and, word by word, in
 * the workspace's other source files. Only lines are looked at, so a name in a comment or a text counts, too.
 */
import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Finding } from '../../shared/formats.js';
import { languageOf } from '../../syntax/index.js';
import { orNull } from '../../system/durable.js';
import { readGivenText } from '../../system/given-file.js';
import type { FileChange } from './accepted.js';
import type { ActivityPorts } from '../frame/ports.js';
import { getText, type Snapshot } from './snapshot.js';

const SEARCHED_FILES = 5_000; // bound: Other source files of the workspace that are looked through for a name that is gone,
const SEARCHED_FILE_BYTES = 1_048_576; // bound: none larger than this.
const USES_TOLD = 10; // bound: Uses told of one definition that is gone.

export interface Dangling {
  readonly finding: Finding;
  /** Lines (from 1) that use it, by path. */
  readonly uses: ReadonlyMap<string, readonly number[]>;
}

/** `findings`: those of `changes`, with what is gone (`Finding.gone`). */
export async function danglingReferences(
  { blobs, workspace }: Pick<ActivityPorts, 'blobs' | 'workspace'>,
  { snapshot, changes, findings }: { snapshot: Snapshot; changes: readonly FileChange[]; findings: readonly Finding[] },
  signal: AbortSignal,
): Promise<readonly Dangling[]> {
  const gone = findings.flatMap(({ path, gone: name, message }) =>
    name === undefined ? [] : [{ path, name, what: message, uses: new Map<string, number[]>() }],
  );
  if (gone.length === 0) return [];
  const word = wordsOf(gone.map(({ name }) => name));
  const look = (path: string, text: string): void => {
    for (const [at, line] of text.split('\n').entries())
      for (const found of new Set((line.match(word) ?? []).map(bare)))
        for (const { name, uses } of gone)
          if (bare(name) === found) uses.set(path, [...(uses.get(path) ?? []), at + 1]);
  };
  const changed = new Set(changes.map(({ path }) => path));
  for (const { path, result } of changes) if (result !== null) look(path, await getText(blobs, result.ref));
  const root = await workspace.root(snapshot.workspace);
  const names = snapshot.names === undefined ? [] : (await getText(blobs, snapshot.names)).split('\n');
  const others = names.filter((path) => !changed.has(path) && languageOf(path) !== null).slice(0, SEARCHED_FILES);
  for (const path of others) {
    signal.throwIfAborted();
    const found = await orNull(lstat(join(root, path)));
    if (found?.isFile() === true && found.size <= SEARCHED_FILE_BYTES)
      look(path, (await readGivenText(join(root, path))) ?? '');
  }
  const severity = snapshot.config.guards.dangling_reference ?? 'ask';
  return gone
    .filter(({ uses }) => uses.size > 0)
    .map(({ path, what, uses }) => {
      const places = [...uses].flatMap(([file, lines]) => lines.map((line) => `${file}:${line}`));
      const more = places.length > USES_TOLD ? ` and ${places.length - USES_TOLD} more` : '';
      const message = `${what} Its name is still used: ${places.slice(0, USES_TOLD).join(', ')}${more}.`;
      return { uses, finding: { guard: 'dangling_reference', severity, path, message } };
    });
}

/** A method is looked for behind a dot, an arrow or colons; everything else as a word of its own. */
const wordsOf = (names: readonly string[]): RegExp => {
  const escaped = names.map((name) => {
    const plain = name.replace(/^\./, '').replace(/\W/gu, '\\$&');
    return name.startsWith('.') ? `(?:\\.|->|::)\\s*${plain}` : `(?<![\\p{L}\\p{N}_$])${plain}`;
  });
  return new RegExp(`(?:${escaped.join('|')})(?![\\p{L}\\p{N}_$])`, 'gu');
};
const bare = (match: string): string => match.replace(/^(?:\.|->|::)\s*/, '');
