/**
 * whole-file: the new content of each file.
 *
 *   { FILE <path> <nonce>        { FILE <path>
 *     body                         body
 *     END FILE <nonce> }           END FILE }            (an answer without nonces)
 *   DELETE <path> <nonce>        DELETE <path>
 *
 * Markdown formatting and remarks round a path are left out (`namedPath`), `a/` or `b/` before it where only what follows is a file and no
 * new one may be made. With a nonce a body may hold anything. Without one a body that holds a marker line is refused as ambiguous, and so is
 * prose behind a file that may hold prose, where nothing shows that it ended. Outside of the entries stand blank lines, fences and prose; a
 * line there that opens an edit in any grammar refuses the answer, so that no part of it is lost. A fence round a body, or one that closes at
 * its end without having been opened, is left out (compose.ts). Tolerance: fenced_body. Without entries: `NO-CHANGE: reason` (marker.ts).
 */
import { type LineIndex, NO_LINES } from '../text/lines.js';
import type { FilePlan } from '../text/changes.js';
import { lookUp, namedPath, pathsThere, withoutPrefix } from '../paths.js';
import { answerIndex } from '../text/codec.js';
import { holdsProse } from '../text/fence.js';
import { Outside } from '../detect.js';
import { invalid } from './reader.js';
import type { FormatContext, FormatModule, Reading, Reason, UsedTolerance } from '../types.js';

interface Entry {
  readonly kind: 'file' | 'delete';
  readonly path: string;
  readonly body: LineIndex;
  /** Its last line closed the fence that the entry stands in, and is left out. */
  readonly unfenced?: boolean;
}
type Parsed = Readonly<{ entries: readonly Entry[]; notes: readonly Reason[] }>;

export const wholeFile: FormatModule = {
  read: (body, context) => {
    const parsed = parse(body, context);
    if ('kind' in parsed) return { reading: parsed, files: 0, edits: 0 };
    const count = parsed.entries.length;
    return { reading: plan(parsed, context), files: count, edits: count };
  },
};

/** The lines in a body that may be of the grammar; no others are looked at. */
const MARKS = /\n(?:END FILE|FILE |DELETE |EMEND-COMPLETE)[^\n]*/g;
const nextLine = (text: string, from: number): number =>
  text.indexOf('\n', from) + 1 || text.length;

const parse = (
  answer: string,
  { options: { nonce }, whole = false }: FormatContext,
): Parsed | Reading => {
  const entries: Entry[] = [];
  const notes: Reason[] = [];
  const bad = (code: string, message: string, open = false): Reading =>
    invalid(code, message, entries.length, open);
  const unclear = (
    file: Pick<Entry, 'path'> | undefined,
    line: string,
    behind?: string,
  ): Reading => {
    const message = `The body of ${file?.path ?? 'a file'} contains the marker line ${JSON.stringify(line.slice(0, 80))}, which looks like a real one.${behind === undefined ? '' : ` Behind it stands ${JSON.stringify(behind.slice(0, 80))}: nothing shows that the file ended there.`}`;
    return {
      kind: 'refused',
      reasons: [{ code: 'marker_in_body', index: entries.length, message }],
    };
  };
  const isEnd = (line: string): boolean =>
    line.trimEnd() === (nonce === undefined ? 'END FILE' : `END FILE ${nonce}`);
  // Is it known that the last entry has ended? Else the first line of prose behind it.
  let [ended, prose]: [boolean, string | null] = [true, null];
  const outside = new Outside();
  for (let [from, at] = [0, 0]; from < answer.length; at += 1) {
    const next = nextLine(answer, from);
    const line = answer.slice(from, next).replace(/\r?\n$/, '');
    from = next;
    const isFence = outside.take(at, line);
    const header = readHeader(line, nonce);
    if (header === null) {
      if (nonce === undefined && isEnd(line) && entries.length > 0)
        return unclear(entries.at(-1), line);
      ended ||= isFence && outside.fences.open === null;
      if (isFence || line.trim() === '' || entries.length === 0) continue;
      if (!ended) prose ??= line;
      notes.push({
        code: 'prose_between',
        message: `Line ${at + 1} outside the files was ignored.`,
      });
      continue;
    }
    outside.belongs(at);
    const isText = header.kind === 'file' && holdsProse(header.path);
    [ended, prose] = [whole || nonce !== undefined || !isText, null];
    if (header.kind === 'delete') {
      entries.push({ ...header, body: NO_LINES });
      continue;
    }
    MARKS.lastIndex = from - 1;
    let mark = MARKS.exec(answer);
    for (; mark !== null; mark = MARKS.exec(answer)) {
      const inner = mark[0].slice(1).replace(/\r$/, '');
      if (isEnd(inner)) break;
      if (nonce !== undefined && readHeader(inner, nonce) !== null)
        return bad(
          'end_missing',
          `${header.path} has no line \`END FILE ${nonce}\` before the next file starts.`,
        );
      if (nonce === undefined && /^(FILE|DELETE) \S|^EMEND-COMPLETE\b/.test(inner))
        return unclear(header, inner);
    }
    if (mark === null)
      return bad('cut_inside_file', `${header.path} has no closing \`END FILE\` line.`, true);
    const body = answerIndex(answer.slice(from, mark.index + 1));
    const inner = outside.fences.closeIn(body);
    entries.push({ ...header, body: inner, unfenced: inner !== body });
    at += body.length + 1;
    from = nextLine(answer, mark.index + 1);
  }
  if (entries.length > 0 && prose !== null)
    return outside.fault(entries.length) ?? unclear(entries.at(-1), 'END FILE', prose);
  if (entries.length > 0)
    return outside.fault(entries.length) ?? { entries, notes: notes.slice(0, 3) };
  const wanted = `FILE <path>${nonce === undefined ? '' : ` ${nonce}`}`;
  return outside.fault(0) ?? bad('no_edits', `The answer has no \`${wanted}\` line.`);
};

/** `FILE <path> <nonce>` or `DELETE <path> <nonce>`; paths may hold blanks. */
const readHeader = (
  line: string,
  nonce: string | undefined,
): { kind: 'file' | 'delete'; path: string } | null => {
  const match = /^(FILE|DELETE) (.*\S)\s*$/.exec(line);
  if (match?.[2] === undefined) return null;
  const kind = match[1] === 'FILE' ? 'file' : 'delete';
  if (nonce === undefined) return { kind, path: match[2] };
  return match[2].endsWith(` ${nonce}`)
    ? { kind, path: match[2].slice(0, -nonce.length - 1).trim() }
    : null;
};

const plan = ({ entries, notes }: Parsed, context: FormatContext): Reading => {
  const plans: FilePlan[] = [];
  const reasons: Reason[] = [];
  const tolerances: UsedTolerance[] = [];
  const taken = new Set<string>();
  const folders = new Set(
    pathsThere(context.files, context.options).map((path) => path.slice(0, 2)),
  );
  for (const [index, entry] of entries.entries()) {
    const stated = namedPath(entry.path, context.files) ?? entry.path;
    const bare = folders.has(stated.slice(0, 2)) ? stated : withoutPrefix(stated, context);
    const found = lookUp(bare, context, index);
    if (!found.ok) {
      reasons.push(found.reason);
      continue;
    }
    const { path, file } = found;
    const refuse = (code: string, message: string): void =>
      void reasons.push({ code, path, index, message });
    if (taken.has(path)) refuse('file_twice', `${path} is answered twice. Send each file once.`);
    else if (entry.kind === 'delete') {
      if (file.bytes === null)
        refuse('delete_absent', `${path} does not exist, so it cannot be deleted.`);
      else if (context.options.allowDelete === true) plans.push({ kind: 'delete', path });
      else
        refuse(
          'delete_not_allowed',
          `${path} may not be deleted here. Send its new content instead.`,
        );
    } else if (bare !== stated && lookUp(stated, context).ok)
      refuse('bad_path', prefixUnclear(stated, path));
    else {
      if (entry.unfenced === true) tolerances.push({ tolerance: 'fenced_body', path, index });
      plans.push({ kind: 'lines', path, result: entry.body, rewritten: true, index });
    }
    taken.add(path);
  }
  return reasons.length > 0
    ? { kind: 'refused', reasons }
    : { kind: 'plans', plans, tolerances, notes };
};

const prefixUnclear = (path: string, bare: string): string =>
  `${path} is not there, and ${bare} is. It is not clear which is meant: send the path of ${bare}, or a new file elsewhere.`;
