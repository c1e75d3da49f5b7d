/**
 * whole-file: the new content of each file.
 *
 *   { FILE <path> <nonce>        { FILE <path>
 *     body                         body
 *     END FILE <nonce> }           END FILE }            (an answer without nonces)
 *   DELETE <path> <nonce>        DELETE <path>
 *
 * With a nonce a body may hold anything. Without one a body that holds a marker line is refused as ambiguous. Between entries only
 * blank lines and fences may stand, and prose where a nonce tells it from an entry.
 */
import { type LineIndex, indexOf, NO_LINES } from '../text/lines.js';
import type { FilePlan } from '../text/changes.js';
import { lookUp } from '../paths.js';
import { answerIndex } from '../text/codec.js';
import type { FormatContext, FormatModule, Reading, Reason } from '../types.js';

// Models put a file's content into a fence of its own. It is taken off only where it cannot be content.

const MARKDOWN_LIKE = /\.(md|mdx|mdc|markdown|mkd|qmd|rmd|rst|adoc|txt)$|(^|\/)readme[^/]*$/i;
/** Files whose content may be anything: no ending that tells, templates, and what tests or programs wrote. */
const ANYTHING =
  /(^|\/)\.?[^./]+$|\.(text|tmpl|tpl|template|hbs|ejs|j2|jinja|liquid|snap|prompt|in|out|log|golden|expected)$/i;
const FENCE = /^ {0,3}(`{3,}|~{3,})/;

/**
 * The body without a fence round all of it, or the same body. Never in Markdown-like files, nor where the base or body holds other
 * fences. Null: the fence may be content or the model's own, and nothing tells which.
 */
const stripBodyFence = (path: string, body: LineIndex, base: LineIndex): LineIndex | null => {
  const opening = /^(`{3,}|~{3,})[\w+#.-]*\s*$/.exec(body.line(0) ?? '')?.[1];
  if (opening === undefined || body.length < 2 || body.line(body.length - 1)?.trimEnd() !== opening) return body;
  if (MARKDOWN_LIKE.test(path)) return body;
  const inner = body.slice(1, body.length - 1);
  if (inner.all.some((line) => FENCE.test(line)) || base.all.some((line) => FENCE.test(line))) return body;
  return ANYTHING.test(path) ? null : inner;
};

interface Entry {
  readonly kind: 'file' | 'delete';
  readonly path: string;
  readonly body: LineIndex;
}
type Parsed =
  | { readonly ok: true; readonly entries: readonly Entry[]; readonly notes: readonly Reason[] }
  | { readonly ok: false; readonly open: boolean; readonly reason: Reason };

export const wholeFile: FormatModule = {
  format: 'whole-file',
  read: (body, context) => {
    const parsed = parse(answerIndex(body), context.options.nonce);
    if (!parsed.ok) {
      const { open, reason } = parsed;
      const reading: Reading =
        reason.code === 'marker_in_body'
          ? { kind: 'refused', reasons: [reason] }
          : { kind: 'invalid', open, reasons: [reason] };
      return { reading, files: 0, edits: 0 };
    }
    const count = parsed.entries.length;
    return { reading: plan(parsed.entries, parsed.notes, context), files: count, edits: count };
  },
};

/** What lines of the grammar begin with: most lines of a body need not be looked at. */
const [LETTER_D, LETTER_E, LETTER_F] = [0x44, 0x45, 0x46];
const mayMark = (lines: LineIndex, at: number): boolean => {
  const code = lines.firstCode(at);
  return code === LETTER_F || code === LETTER_E || code === LETTER_D;
};

const parse = (lines: LineIndex, nonce: string | undefined): Parsed => {
  const entries: Entry[] = [];
  const notes: Reason[] = [];
  const bad = (code: string, message: string, open = false): Parsed => ({
    ok: false,
    open,
    reason: { code, index: entries.length, message },
  });
  const isEnd = (line: string): boolean => line.trimEnd() === (nonce === undefined ? 'END FILE' : `END FILE ${nonce}`);
  const hasEntry = firstHeader(lines, nonce) < lines.length;
  let at = 0;
  while (at < lines.length) {
    const line = lines.line(at) ?? '';
    const header = readHeader(line, nonce);
    if (header === null) {
      const harmless = line.trim() === '' || /^ {0,3}(`{3,}|~{3,})/.test(line);
      if (!harmless && nonce === undefined && hasEntry)
        return bad(
          'marker_in_body',
          `Line ${at + 1} (${JSON.stringify(line.slice(0, 80))}) stands outside every file; a body may hold no marker line.`,
        );
      if (!harmless) notes.push({ code: 'prose_between', message: `Line ${at + 1} outside the files was left out.` });
      at += 1;
      continue;
    }
    at += 1;
    if (header.kind === 'delete') {
      entries.push({ ...header, body: NO_LINES });
      continue;
    }
    const from = at;
    for (; at < lines.length; at += 1) {
      if (!mayMark(lines, at)) continue;
      const inner = lines.line(at) ?? '';
      if (isEnd(inner)) break;
      if (nonce !== undefined && readHeader(inner, nonce) !== null)
        return bad('end_missing', `${header.path} has no line \`END FILE ${nonce}\` before the next file begins.`);
      if (nonce === undefined && /^(FILE|DELETE) \S|^EMEND-COMPLETE\b/.test(inner))
        return bad(
          'marker_in_body',
          `The body of ${header.path} holds the marker line ${JSON.stringify(inner.slice(0, 80))}, which cannot be told from a real one.`,
        );
    }
    if (at >= lines.length) return bad('cut_inside_file', `${header.path} has no closing \`END FILE\` line.`, true);
    entries.push({ ...header, body: lines.slice(from, at) });
    at += 1;
  }
  if (entries.length === 0)
    return bad('no_edits', `The answer holds no \`FILE <path>${nonce === undefined ? '' : ` ${nonce}`}\` line.`);
  return { ok: true, entries, notes: notes.slice(0, 3) };
};

/** The first line that begins a file or deletes one; the number of lines where there is none. */
const firstHeader = (lines: LineIndex, nonce: string | undefined): number => {
  let at = 0;
  while (at < lines.length && !(mayMark(lines, at) && readHeader(lines.line(at) ?? '', nonce) !== null)) at += 1;
  return at;
};

/** `FILE <path> <nonce>` or `DELETE <path> <nonce>`; paths may hold blanks. */
const readHeader = (line: string, nonce: string | undefined): { kind: 'file' | 'delete'; path: string } | null => {
  const match = /^(FILE|DELETE) (.*\S)\s*$/.exec(line);
  if (match?.[2] === undefined) return null;
  const kind = match[1] === 'FILE' ? 'file' : 'delete';
  if (nonce === undefined) return { kind, path: match[2] };
  return match[2].endsWith(` ${nonce}`) ? { kind, path: match[2].slice(0, -nonce.length - 1).trim() } : null;
};

const plan = (entries: readonly Entry[], notes: readonly Reason[], context: FormatContext): Reading => {
  const plans: FilePlan[] = [];
  const reasons: Reason[] = [];
  const stripped: Reason[] = [];
  const taken = new Set<string>();
  for (const [index, entry] of entries.entries()) {
    const found = lookUp(entry.path, context, index);
    if (!found.ok) {
      reasons.push(found.reason);
      continue;
    }
    const { path, file } = found;
    if (taken.has(path)) {
      reasons.push({ code: 'file_twice', path, index, message: `${path} is answered twice. Send each file once.` });
      continue;
    }
    taken.add(path);
    if (entry.kind === 'delete') {
      const refusal = deletionRefusal(path, file.bytes === null, context.options.allowDelete ?? false, index);
      if (refusal === null) plans.push({ kind: 'delete', path });
      else reasons.push(refusal);
      continue;
    }
    const lines = stripBodyFence(path, entry.body, file.text === null ? NO_LINES : indexOf(file.text));
    if (lines === null) {
      reasons.push({ code: 'fence_unclear', path, index, message: fenceUnclear(path) });
      continue;
    }
    if (lines !== entry.body)
      stripped.push({
        code: 'fence_stripped',
        path,
        index,
        message: `The fence round the content of ${path} was left out.`,
      });
    plans.push({
      kind: 'lines',
      path,
      result: lines,
      get lines() {
        return lines.all;
      },
    });
  }
  return reasons.length > 0
    ? { kind: 'refused', reasons }
    : { kind: 'plans', plans, tolerances: [], notes: [...notes, ...stripped] };
};

const fenceUnclear = (path: string): string =>
  `The whole content of ${path} stands in a fence, and the file's name does not tell whether the fence belongs to it. Send the content without a fence, or the change as an edit of lines.`;

const deletionRefusal = (path: string, absent: boolean, allowed: boolean, index: number): Reason | null => {
  if (absent)
    return { code: 'delete_absent', path, index, message: `${path} does not exist, so it cannot be deleted.` };
  if (allowed) return null;
  return {
    code: 'delete_not_allowed',
    path,
    index,
    message: `${path} may not be deleted here. Send its new content instead.`,
  };
};
