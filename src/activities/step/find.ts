/** The files that a task may be about, ranked, with what each defines: outlines are made once for the same bytes. */
import { join } from 'node:path';
import type { Candidate } from '../../shared/pick.js';
import { findFiles, type FileOutline } from '../../workspace/finding/index.js';
import { readGiven } from '../../system/given-file.js';
import { sha256 } from '../../system/hash.js';
import { languageOf } from '../../syntax/index.js';
import type { ActivityPorts } from '../frame/ports.js';

const OUTLINED_BYTES = 512 * 1024; // bound: A longer file is offered without its definitions.
const SYMBOLS = 200; // bound: Definitions of a file that are kept,
const IMPORTS = 100; // bound: and its imports,
const LINE_CHARS = 200; // bound: each so long.
const IMPORT =
  /^\s*(?:import|from|use|using|pub(?:\([^)]*\))? +(?:use|mod)|mod|#include)\b|\b(?:require|import)\(|^(?:export\b.*|\} *)\bfrom +['"]/;

const cut = (texts: readonly string[], most: number) => texts.slice(0, most).map((text) => text.slice(0, LINE_CHARS));

export const findCandidates = (
  { edits, records }: Pick<ActivityPorts, 'edits' | 'records'>,
  { root, files, task }: { readonly root: string; readonly files: readonly string[]; readonly task: string },
  signal: AbortSignal,
): Promise<readonly Candidate[]> =>
  findFiles(root, files, task, async (path) => {
    const language = languageOf(path);
    // Gone meanwhile, or too large.
    const bytes = language === null ? null : await readGiven(join(root, path), OUTLINED_BYTES).catch(() => null);
    if (language === null || bytes === null) return null;
    const hash = sha256(bytes);
    const key = `outlines/${hash.slice(0, 2)}/${hash}-${language.grammar}`;
    const known = await records.get(key);
    if (known !== null) return known as FileOutline;
    const read = await edits.run('outline', { path, bytes, encoding: null }, signal);
    const symbols = read.kind === 'read' ? read.symbols.map(({ qualified }) => qualified) : [];
    const imports = bytes
      .toString()
      .split('\n')
      .filter((line) => IMPORT.test(line));
    return (await records.putIfAbsent(key, { symbols: cut(symbols, SYMBOLS), imports: cut(imports, IMPORTS) })).value;
  });
