/**
 * unified-diff: the edit as a diff against the files as they were shown.
 *
 *   response = *( prose / fence / file )
 *   file     = [ "diff --git " name " " name NL *extended / prelude ] [ "--- " name NL "+++ " name NL 1*hunk ]
 *   prelude  = ( "diff -" / "Index: " ) … NL [ 20*"=" NL ]                  (of diff, hg diff and svn diff; it says nothing of its own)
 *   extended = ( "old mode " / "new mode " / "new file mode " / "deleted file mode " ) mode NL
 *            / ( "rename from " / "rename to " ) name NL / ( "similarity index " / "index " … ) NL
 *   hunk     = ( "@@ -" start [ "," count ] " +" start [ "," count ] " @@" [ " " heading ] / "@@" [ " " words ] ) NL 1*line
 *   line     = ( " " / "-" / "+" ) text NL [ "\ No newline at end of file" NL ]
 *   name     = path with a prefix ("a/", "b/") or without / "/dev/null" / C string in double quotes, then perhaps a time or revision
 *
 * Hunks without a header are of the file that the line before names (`fileBefore`), else of the last file of the diff, else of the only
 * offered one. A hunk without numbers belongs to the one place where it fits. Several headers of one file are one section.
 * `--- old/x` and `+++ new/x`, or `x.orig` and `x`, are the file x; a side without lines whose time is 1970 or that is "(nonexistent)"
 * is no file. All names of a header agree. Renames may swap, go round, or go where another rename leaves a path.
 *
 * Where a hunk of the answer holds a carriage return, the diff's bytes are exact: lines end at LF alone, context and removed lines are matched
 * with their carriage returns, added lines keep theirs. A file whose hunks do not stand so is read as by a diff without any, and ends that
 * differ are the tolerance `line_endings`. In a file of mixed ends so is a diff without carriage returns whose lines all end in LF there.
 *
 * A diff that does not fit, and whose reverse fits as a whole with right counts and line numbers, has been applied: its hunks are skipped
 * with the note `already_present`. If counts are wrong or absent, a signed line that is in the file as it is may be context: refused.
 *
 * Refused by name: copies, binary patches, submodules, symbolic links, combined diffs; additions without context (except into an
 * empty or new file). Tolerances: counts, line_drift, unchecked_lines, lost_blank, line_endings, trailing_space, lookalikes, tabs, indent.
 * Edits, for the marker: hunks. Without any: `NO-CHANGE: reason` (marker.ts).
 */
import { fileEditOf, readExtendedHeader, type FileHeader } from './header.js';
import {
  afterBlank,
  editOf,
  type Hunk,
  isGap,
  isHunkHeader,
  isPrelude,
  isSignature,
  readHunk,
  hasWrongCounts,
  isShort,
} from './hunk.js';
import { readGitLine, readStamped } from './names.js';
import { closesFence, CUT_INSIDE_FENCE, isBareFence, openingFence } from '../../text/fence.js';
import { AnswerReader, parsed, unread } from '../reader.js';
import type { Dialect, DialectRules, Edit, Hint, ParsedResponse } from '../../edit.js';
import type { ParseContext, Reading } from '../../types.js';

interface FileDiff extends FileHeader {
  readonly hunks: Hunk[];
}

const DIFF_REFUSALS = 10; // bound: Refused hunks of one file of a diff that are reported; each costs a search for the nearest place.

const RULES: DialectRules = {
  order: 'base',
  tolerances: new Set([
    'counts',
    'line_drift',
    'unchecked_lines',
    'lost_blank',
    'line_endings',
    'trailing_space',
    'lookalikes',
    'tabs',
    'indent',
    'fenced_body',
  ]),
  mostRefusals: DIFF_REFUSALS,
  lead: ({ hint }, path) =>
    `Hunk ${hint.index + 1} (${path}, line ${hint.responseLine ?? 0} of the answer): `,
  leadsPaths: false,
  whole: null,
  sections: {
    keepsReturns: true,
    movesChain: true,
    isReversible: true,
    twice: (path) => `${path} appears twice in the diff. Put all its hunks under one header.`,
    absent: null,
    gone: (path, action) => `${path} does not exist, so it cannot be ${action}.`,
    exists: (path) =>
      `The diff creates ${path}, which exists already. Send a diff against its content.`,
    occupied: (from, to) => `${from} cannot be renamed to ${to}: that file exists already.`,
  },
  block: null,
};

export const unifiedDiff: Dialect = {
  rules: RULES,
  parse: (body, context) => new DiffReader(body, context).read(),
};

const BINARY = 'Binary patches are not supported: only text files can be edited.';
const COMBINED =
  'Combined diffs of merges are not supported. Send a diff against the file as it was shown.';

class DiffReader extends AnswerReader {
  readonly files: FileDiff[] = [];
  protected readonly whole = 'diff';
  /** True if an earlier line promised the names of a file. */
  #promised = false;
  edits = 0;
  /** The last hunk's counts were right. */
  #counted = true;
  /**
   * A hunk that is whole has fewer lines than its header states. So the counts of this response do not tell that its last hunk is cut, if its
   * last line has an end.
   */
  #hasShortHunk = false;
  readonly #isEnded: boolean;
  #prose = false;
  /** The lines after the last closing fence are prose. */
  #inProse = false;
  /** What stood between the last hunk or header and here: prose must be set apart from hunks, or it could be a damaged line. */
  #gap: 'none' | 'blank' | 'fence' = 'none';

  /** If the header lines end in CRLF as well, that is how the response came, and says nothing of a new file. */
  readonly #returnedOfNew: ArrayLike<number>;
  readonly #answer = { lines: this.lines, isItem: (line: number): boolean => this.isItem(line) };

  constructor(body: string, context: ParseContext) {
    super(body.endsWith('\n') ? body.slice(0, -1) : body, context);
    this.#isEnded = body.endsWith('\n');
    const isTransport = Array.from(this.returned).every(
      (returned, line) => returned === 1 || line === this.lines.length - 1,
    );
    this.#returnedOfNew = isTransport ? [] : this.returned;
  }

  read(): ParsedResponse {
    const fault = this.parse();
    const { notes, edits: count } = this;
    return fault === null ? parsed(this.#all(), count, notes) : unread(fault, count);
  }

  /** Returns the edits of every file: what becomes of it as a whole, then its hunks. */
  #all(): readonly Edit[] {
    const edits: Edit[] = [];
    let index = 0;
    for (const [section, file] of this.files.entries()) {
      const hint: Hint = { index, responseLine: file.answerLine, section, rules: RULES };
      const header = fileEditOf(file, this.#isOffered, hint);
      edits.push(header);
      for (const hunk of file.hunks) {
        edits.push(editOf(hunk, header.path ?? '', { hint, index, bounds: null }));
        index += 1;
      }
    }
    return edits;
  }

  /** A rule, an item of a list or a line that goes on with it, that no file has, signed or not; of a last one not even the beginning. */
  readonly isItem = (lineIndex: number): boolean => {
    const line = this.lines[lineIndex] ?? '';
    if (!/^(?:(?:- | {2,})\S|-{3,}$)/.test(line)) return false;
    const isLast = lineIndex >= this.lines.length - 1;
    const occurs = (text: string): boolean => this.context.holdsLine(text, isLast);
    // A rule is no line of context, which begins with a blank: only what it would remove counts.
    return (line.startsWith('---') || !occurs(line.trim())) && !occurs(line.slice(1).trim());
  };
  protected override get hasProse(): boolean {
    return this.#prose;
  }

  protected override atEnd(): Reading | null {
    // Behind a hunk with wrong counts a fence may have been a line of it.
    if (this.outside.fences.open !== null && !this.#counted)
      return { kind: 'invalid', open: true, reasons: [CUT_INSIDE_FENCE] };
    const fault = this.outside.fault(this.edits || this.files.length);
    if (fault) return fault;
    if (this.files.length === 0)
      return this.invalid(
        'no_edits',
        'The answer contains no diff: no line starts with `diff --git`, or with `---` before one with `+++`.',
      );
    return this.#unfinished();
  }

  protected one(text: string): Reading | null {
    const isFence = this.outside.take(this.lineIndex, text);
    if (/^diff --(git|cc|combined) /.test(text)) return this.#fileHeader(text);
    if (text.startsWith('--- ') && this.line(1).startsWith('+++ '))
      return this.#names({ hunks: [], answerLine: this.lineIndex + 1 });
    if (isHunkHeader(text)) return this.#withoutNames();
    if (text.startsWith('@@')) return this.#badHunkHeader();
    if (isPrelude(text)) {
      this.#promised = true;
      this.#pass('fence', /^={20,}$/.test(this.line(1)) ? 2 : 1);
    } else if (text.trim() === '') this.#pass('blank', 1);
    else if (isFence) this.#pass(this.outside.fences.open === null ? 'fence' : 'blank', 1);
    else if (isSignature(this.lines, this.lineIndex)) this.#pass('fence', 2);
    else return this.#stray(text);
    return null;
  }

  #pass(gap: 'blank' | 'fence', lines: number): void {
    if (this.#gap !== 'fence') this.#gap = gap;
    this.lineIndex += lines;
  }

  #stray(text: string): Reading | null {
    const last = this.files.at(-1);
    if (isGap(this.lines, this.lineIndex)) {
      this.#pass('blank', 1);
      return null;
    }
    const isUnsigned =
      !/^[ +\-\\]/.test(text) || (this.#gap !== 'none' && this.isItem(this.lineIndex));
    const behindFence = this.#counted || this.#inProse || (isUnsigned && !this.#mayGoOn());
    const apart = this.#gap === 'fence' ? behindFence : this.#gap === 'blank' && isUnsigned;
    // Before the first hunk half a header is a line that names a file, see `#withoutNames`.
    const header = (last !== undefined || this.isLast) && /^(---|\+\+\+) \S/.test(text);
    if ((last !== undefined && !apart) || header)
      return this.broken(
        'stray_line',
        `${this.lineWords()}, does not belong to a hunk. Every line of a hunk starts with a space, \`+\` or \`-\`, and the counts of its header cover it. Send no text behind it.`,
      );
    this.#prose = this.#inProse = true;
    this.lineIndex++;
    return null;
  }

  /** The last hunk is short of its counts, and the fence behind it may be its text: the next one could close that. */
  #mayGoOn(): boolean {
    const hunk = this.files.at(-1)?.hunks.at(-1);
    const rest = this.lines.slice(this.lineIndex);
    const next = rest.findIndex((line) => openingFence(line) !== null);
    // A fence right before a header opens one round it.
    const inside = rest[afterBlank(rest, next + 1)] ?? '';
    return (
      hunk !== undefined &&
      isShort(hunk) &&
      isBareFence(rest[next]) &&
      !/^(?:diff -|Index: |--- |@@)/.test(inside)
    );
  }

  /** Hunks of the file that the line before them names, else of the file before them in the response, or of the only offered one. */
  #withoutNames(): Reading | null {
    const [only = null, ...others] = this.context.files.keys();
    const before = this.before.replace(/^(?:---|\+\+\+) [ab]\//, '');
    const current = this.#pathOfLast() ?? (others.length === 0 ? only : null);
    const path = this.fileBy(before, current);
    if (path === null || this.#promised)
      return this.broken(
        'hunk_without_file',
        `The hunk at line ${this.lineIndex + 1} of the answer does not belong to a file: put \`--- a/path\` and \`+++ b/path\` before it.`,
      );
    const last = path === this.#pathOfLast() ? this.files.at(-1) : undefined;
    const file = last ?? { hunks: [], answerLine: this.lineIndex + 1, from: path, to: path };
    if (last === undefined) this.#add(file);
    else this.outside.belongs(this.lineIndex);
    return this.#hunksOf(file);
  }

  /** The path of the last file that stays or is created; null: there is none. */
  #pathOfLast(): string | null {
    const last = this.files.at(-1);
    if (last === undefined || last.unsupported !== undefined) return null;
    const hint: Hint = { index: 0, responseLine: null, section: null, rules: RULES };
    const edit = fileEditOf(last, this.#isOffered, hint);
    return edit.kind === 'file' ? edit.after : null;
  }
  readonly #isOffered = (path: string): boolean => this.context.files.has(path);

  /** `diff --git` and the lines up to the first hunk. */
  #fileHeader(text: string): Reading | null {
    const file: FileDiff = { hunks: [], answerLine: this.lineIndex + 1 };
    if (/^diff --(cc|combined) /.test(text))
      return this.#unsupported(file, 'combined_diff', COMBINED);
    const git = readGitLine(text.slice('diff --git '.length));
    if (git) file.git = git;
    for (this.lineIndex++; ; this.lineIndex++) {
      const line = this.line();
      if (line === 'GIT binary patch' || /^Binary files .* differ$/.test(line)) {
        if (file.deleted !== true) return this.#unsupported(file, 'binary_patch', BINARY);
        return this.#skipBytes(file);
      }
      if (line.startsWith('--- ') && this.line(1).startsWith('+++ ')) return this.#names(file);
      if (!readExtendedHeader(line, file)) break;
    }
    this.#add(file);
    return null;
  }

  /** `---`, `+++` and the hunks after them. */
  #names(file: FileDiff): Reading | null {
    const [from, to] = [readStamped(this.line().slice(4)), readStamped(this.line(1).slice(4))];
    this.#add(file);
    if (from === null || to === null)
      return this.broken(
        'bad_header',
        `The file names at line ${this.lineIndex + 1} of the answer cannot be read.`,
      );
    file.from = from.name === '/dev/null' ? null : from.name;
    file.to = to.name === '/dev/null' ? null : to.name;
    this.lineIndex += 2;
    const failure = this.#hunksOf(file);
    const [hunk] = file.hunks;
    if (file.hunks.length === 1 && from.isAbsent && hunk?.oldCount === 0) file.created = true;
    if (file.hunks.length === 1 && to.isAbsent && hunk?.newCount === 0) file.deleted = true;
    return failure;
  }

  #hunksOf(file: FileDiff): Reading | null {
    while (isHunkHeader(this.line())) {
      const read = readHunk(
        { ...this.#answer, returned: file.from === null ? this.#returnedOfNew : this.returned },
        this.lineIndex,
        this.outside.fences.open,
        this.context.whole === true || (this.#hasShortHunk && this.#isEnded),
      );
      if (!read.ok) return this.invalid(read.code, read.message, read.open);
      file.hunks.push(read.hunk);
      this.edits++;
      this.#counted = !hasWrongCounts(read.hunk);
      this.#hasShortHunk ||= isShort(read.hunk);
      this.lineIndex = read.next;
      this.#gap = 'none';
      let next = afterBlank(this.lines, this.lineIndex);
      if (isGap(this.lines, next)) next = afterBlank(this.lines, next + 1);
      if (isHunkHeader(this.lines[next] ?? '')) this.lineIndex = next;
    }
    if (file.hunks.length > 0) return null;
    return this.lineIndex >= this.lines.length ? this.#unfinished() : this.#badHunkHeader();
  }

  /** Skips to the next file: what this one does is refused by name, once the rest is read. */
  #unsupported(file: FileDiff, code: string, message: string): null {
    file.unsupported ??= { code, message };
    return this.#skipBytes(file);
  }

  /** Skips to the next file. The bytes of a binary file that is deleted say nothing more. */
  #skipBytes(file: FileDiff): null {
    this.#add(file);
    do this.lineIndex++;
    while (
      this.lineIndex < this.lines.length &&
      !this.line().startsWith('diff --') &&
      !(this.outside.fences.open && closesFence(this.line(), this.outside.fences.open))
    );
    return null;
  }

  #add(file: FileDiff): void {
    this.files.push(file);
    this.outside.belongs(file.answerLine - 1);
    this.#inProse = false;
    this.#promised = false;
    this.#gap = 'none';
  }

  /** A last header that promises more than it brings: a cut answer. */
  #unfinished(): Reading | null {
    const last = this.files.at(-1);
    if (this.#promised)
      return this.invalid('bare_header', 'No names and hunks follow the last header line.', true);
    if (last === undefined || last.hunks.length > 0 || last.unsupported) return null;
    const { rename } = last;
    const complete =
      last.from === undefined &&
      (rename
        ? rename.from !== undefined && rename.to !== undefined
        : last.newMode !== undefined || last.deleted === true);
    if (complete) return null;
    const message = `No hunk follows the file header at line ${last.answerLine} of the answer.`;
    return this.invalid('bare_header', message, this.lineIndex >= this.lines.length);
  }

  #badHunkHeader(): Reading {
    return this.broken(
      'bad_hunk_header',
      `${this.lineWords()}, should be a hunk header such as \`@@ -12,7 +12,8 @@\`.`,
    );
  }
}
