/** The files that a task may be about, and those round the ones to edit: outlines are made once for the same bytes. */
import type { KnownFile } from '../../shared/pick.js';
import {
  cutLine,
  findFiles,
  lookAround,
  type ReadFile,
  type Searched,
} from '../../workspace/finding/index.js';
import { inspectTarget } from '../../workspace/files/index.js';
import { looksSecret } from '../../workspace/secret-files.js';
import { showSignatures } from '../../model/prompts/index.js';
import type { BlobRef } from '../../shared/ids.js';
import { putJson } from '../../stores/ports.js';
import { readGiven } from '../../system/given-file.js';
import { sha256 } from '../../system/hash.js';
import { languageOf } from '../../syntax/index.js';
import type { ActivityPorts } from '../frame/ports.js';
import { hidesSecret } from '../../system/vault.js';
import { edited, type SnapshotTarget } from './snapshot.js';

const OUTLINED_BYTES = 512 * 1024; // bound: A longer file is offered without its definitions.
const SYMBOLS = 200; // bound: Definitions of a file that are kept,
const IMPORTS = 100; // bound: and its imports,
const LINE_CHARS = 200; // bound: each so long.
const SECRETS = 100; // bound: Secrets of a file; one with more is a list of them, and nothing of it is shown.
const SIGNATURES_MS = 5_000; // bound: Looking round all files of a step: what is not read by then is left out.
const IMPORT =
  /^\s*(?:import|from|use|using|pub(?:\([^)]*\))? +(?:use|mod)|mod|#include)\b|\b(?:require|import)\(|^(?:export\b.*|\} *)\bfrom +['"]|^\t(?:[\w.]+ )?"[\w./-]+"$/;
/** Of a language whose grammar is not known, lines at the margin that define a name. */
const DEFINES =
  /^(?:#define +(\w+)|(?:typedef +)?(?:struct|enum|union|class|module|interface|trait|def|fun|func|function|sub) +(\w+)|\} *(\w+);|[A-Za-z_][\w\s*&:<>,]*?\b(\w+) *[(;=[])/;

/** As it is kept; `hidden`: the lines (0-based) with secrets, of which nothing is told. */
type Kept = ReadFile['outline'] & { readonly hidden: readonly number[] };

/** Each up to the next one. */
const definedByLines = (lines: readonly string[]) =>
  lines
    .map((signature, from) => ({
      qualified: DEFINES.exec(signature)?.slice(1).find(Boolean) ?? '',
      signature,
      from,
    }))
    .filter(({ qualified }) => qualified !== '')
    .map((each, at, all) => ({ ...each, to: all[at + 1]?.from ?? lines.length }));

type Ports = Pick<ActivityPorts, 'edits' | 'records'>;

/** Null: it is no text, too large, outside the workspace, or cannot be read. `held`: its bytes, where they are known. */
const fileReader = ({ edits, records }: Ports, root: string, signal: AbortSignal) => {
  const read = async (path: string, held?: Uint8Array): Promise<ReadFile | null> => {
    const found = held === undefined ? await inspectTarget(root, path, OUTLINED_BYTES) : null;
    const isShown = found?.ok === true && !looksSecret(found.value.target);
    const bytes = held ?? (isShown ? await readGiven(found.value.realPath, OUTLINED_BYTES) : null);
    if (bytes === null || bytes.length > OUTLINED_BYTES || bytes.includes(0)) return null;
    const lines = new TextDecoder().decode(bytes).split(/\r?\n/);
    const without = (hidden: readonly number[]) =>
      lines.map((line, at) => (hidden.includes(at) ? '' : line));
    const [hash, grammar = 'lines'] = [sha256(bytes), languageOf(path)?.grammar];
    const key = `outlines/${hash.slice(0, 2)}/${hash}-${grammar}-2`;
    const known = await records.get<Kept>(key);
    if (known !== null) return { lines: without(known.hidden), outline: known };
    const secrets = await edits.run('secrets', lines.join('\n'), signal);
    if (secrets.length > SECRETS) return null;
    const isHidden = (line: string) =>
      hidesSecret(line) || secrets.flat().some((secret) => line.includes(secret));
    const hidden = lines.flatMap((line, at) => (isHidden(line) ? [at] : []));
    const shown = without(hidden);
    const file = { path, bytes: new TextEncoder().encode(shown.join('\n')), encoding: null };
    const tree = await edits.run('outline', file, signal);
    const defined =
      tree.kind === 'read' ? tree.symbols : grammar === 'lines' ? definedByLines(shown) : [];
    const imports = shown
      .filter((line) => IMPORT.test(line))
      .map((line) => line.slice(0, LINE_CHARS));
    const symbols = defined.map(
      (each) => [each.qualified, cutLine(each.signature), each.from, each.to] as const,
    );
    const kept: Kept = {
      symbols: symbols.slice(0, SYMBOLS),
      imports: imports.slice(0, IMPORTS),
      hidden,
    };
    return { lines: shown, outline: (await records.putIfAbsent(key, kept)).value };
  };
  return (path: string, held?: Uint8Array) => read(path, held).catch(() => null);
};

export const findCandidates = async (
  ports: Ports,
  { root, files, task }: Searched,
  signal: AbortSignal,
) => {
  const read = fileReader(ports, root, signal);
  const outline = async (path: string) =>
    languageOf(path) === null ? null : ((await read(path))?.outline ?? null);
  const found = await findFiles(root, files, task, outline);
  const there = await Promise.all(found.map(({ path }) => inspectTarget(root, path, null)));
  return found.filter((_, at) => there[at]?.ok);
};

/** What calls are told of files beside theirs, by target, best first within a kind. Kept as a blob. */
export type Signatures = Readonly<Record<string, readonly KnownFile[]>>;

/** Never a reason to fail: what cannot be read is left out. `bytes`: of one call for all files. */
export async function findSignatures(
  ports: Ports & Pick<ActivityPorts, 'blobs'>,
  { root, files, task }: Searched,
  targets: readonly SnapshotTarget[],
  signal: AbortSignal,
): Promise<{ readonly ref: BlobRef; readonly bytes: number }> {
  const until_ms = performance.now() + SIGNATURES_MS;
  const reader = fileReader(ports, root, signal);
  const read: typeof reader = async (...file) =>
    performance.now() < until_ms ? reader(...file) : null;
  const around = lookAround(
    { root, files: files.filter((path) => !looksSecret(path)), task },
    read,
  );
  // No object yet: a file may be called `__proto__`.
  const found = new Map<string, readonly KnownFile[]>();
  for (const { path, base } of edited(targets)) {
    const own = base === null ? null : await read(path, await ports.blobs.get(base.ref));
    if ((base === null || own !== null) && performance.now() < until_ms)
      found.set(path, await around(path, own));
  }
  const { text } = showSignatures([...found.values()].flat(), [...found.keys()]);
  return {
    ref: await putJson(ports.blobs, Object.fromEntries(found)),
    bytes: Buffer.byteLength(text),
  };
}
