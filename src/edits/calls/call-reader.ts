/** From calls of other tools' edits to edits: which form a call has, whether it is complete, and what it asks for. */
import { quoted } from '../../shared/text.js';
import { BLOCK_OPENING } from '../detect.js';
import { beginPatch } from '../dialects/begin-patch.js';
import { invalid, parsed, unread } from '../dialects/reader.js';
import { searchBlocks } from '../dialects/search-blocks.js';
import { unifiedDiff } from '../dialects/unified-diff/index.js';
import { wholeFile } from '../dialects/whole-file.js';
import type { Dialect, DialectRules, Edit, ParsedResponse, TextEdit } from '../edit.js';
import { checkPath } from '../paths.js';
import { answerIndex } from '../text/codec.js';
import { isJsonObject, type Json } from '../text/json.js';
import type { ParseContext, Reading, Reason } from '../types.js';
import type { Argument, CallForm, Meaning } from './forms.js';
import {
  argumentOf,
  type Arguments,
  argumentsOf,
  besides,
  bestForm,
  type Call,
  formsNamed,
  isKeyOfCalls,
  jsonIn,
  meaningByKeys,
  missing,
} from './arguments.js';

export const CALL_EDITS = 1_000; // bound: Edits of the calls of one response: each passes over the text once more.
const NAME_CHARS = 60; // bound: Characters of a call's name that a message quotes.
const KEYS_NOTED = 10; // bound: Ignored keys that a note lists.

/** How an argument is called where a call has no form of its own. */
const USUAL: Readonly<Record<Argument, string>> = {
  path: 'file_path',
  old: 'old_string',
  new: 'new_string',
  all: 'replace_all',
  count: 'expected_replacements',
  edits: 'edits',
  text: 'content',
  after: 'insert_line',
  before: 'line',
  patch: 'input',
  diff: 'diff',
  command: 'command',
  mode: 'mode',
};
const SEND_STRINGS =
  'Send `{"file_path": …, "old_string": …, "new_string": …}`, with `old_string` exactly as in the file.';
const UNREAD: Readonly<Record<string, string>> = {
  NotebookEdit: `It names a cell, whose lines in the file are not known. ${SEND_STRINGS}`,
  undo: 'Send the edit that restores the text.',
  shell: `No command of a call is run, other than \`apply_patch\` with its patch. ${SEND_STRINGS}`,
};

/** What kind of edits a file gets; all edits of a file must be of one. */
type Kind = 'text' | 'whole' | 'lines' | 'section';

interface ReadCall {
  readonly call: Call;
  readonly form: CallForm | null;
  readonly args: Arguments;
  /** Path of the call that the edit is one of; null: none. */
  readonly outer: string | null;
}

/** Takes calls one after the other. A fault of one ends the reading. */
export class CallReader {
  readonly #context: ParseContext;
  readonly #rules: DialectRules;
  readonly #edits: Edit[] = [];
  readonly #notes: Reason[] = [];
  readonly #ignored = new Set<string>();
  /** Contents of files that are written, by the number of their edit. */
  readonly #written = new Map<number, string>();
  #passed = 0;
  #count = 0;
  #section = 0;

  readonly #lineOf: (object: Json) => number | null;
  /** Line of the present call. */
  #line: number | null = null;

  /** `lineOf`: the 1-based line of the response where an object of it begins. */
  constructor(
    context: ParseContext,
    rules: DialectRules,
    lineOf: (object: Json) => number | null = () => null,
  ) {
    this.#context = context;
    this.#rules = rules;
    this.#lineOf = lineOf;
  }

  /** Number of edits that were read so far. */
  get count(): number {
    return this.#count;
  }

  take(call: Call): Reading | null {
    return this.#take(call, null);
  }

  /** Returns all edits, or why they cannot be used. */
  finish(notes: readonly Reason[] = []): ParsedResponse {
    if (this.#count === 0) {
      const explanation =
        this.#passed > 0
          ? 'The answer contains only calls that edit nothing.'
          : 'The answer contains no edit.';
      return unread(invalid('no_edits', explanation));
    }
    const fault = this.#mixed();
    if (fault !== null) return unread(fault, this.#count);
    const keys = [...this.#ignored].slice(0, KEYS_NOTED).map((key) => `\`${key}\``);
    const own: Reason[] =
      keys.length === 0
        ? []
        : [
            {
              code: 'ignored_keys',
              message: `Keys without a meaning for the edit were ignored: ${keys.join(', ')}.`,
            },
          ];
    return parsed(this.#edits, this.#count, [...notes, ...this.#notes, ...own]);
  }

  #take(call: Call, outer: string | null): Reading | null {
    this.#line = call.line;
    const args = argumentsOf(call.args);
    const command = args.values.get('command')?.value;
    const named = formsNamed(call.name, command);
    const form = bestForm(named, args);
    const readCall: ReadCall = { call, form, args, outer };
    if (form?.meaning === 'none') {
      this.#passed += 1;
      const name = call.name ?? form.command ?? '';
      this.#notes.push({
        code: 'call_ignored',
        message: `The call \`${name.slice(0, NAME_CHARS)}\` edits nothing and was ignored.`,
      });
      return null;
    }
    if (form?.meaning === 'unread') {
      const explanation = UNREAD[form.names[0] ?? ''] ?? UNREAD.undo ?? '';
      return this.#bad(
        'call_unread',
        `The answer looks like ${labelOf(readCall)}, which is not read. ${explanation}`,
      );
    }
    if (args.stranger !== null)
      return this.#bad('unknown_key', this.#stranger(readCall, args.stranger));
    for (const key of args.ignored) this.#ignored.add(key);
    return args.values.has('edits') ? this.#list(readCall) : this.#one(readCall);
  }

  /** Reads several edits, which may be given as JSON text, or one alone. */
  #list(readCall: ReadCall): Reading | null {
    const { call, args, outer } = readCall;
    const stated = args.values.get('edits')?.value ?? null;
    const listed = typeof stated === 'string' ? (jsonIn(stated) ?? null) : stated;
    const items = isJsonObject(listed) ? [listed] : listed;
    if (!Array.isArray(items))
      return this.#bad(
        'no_operations',
        `\`${this.#keyOf(readCall, 'edits')}\` is not an array.`,
        null,
      );
    const stranger = strangerToList(args);
    if (stranger !== null) return this.#bad('unknown_key', this.#stranger(readCall, stranger));
    const path = args.values.has('path') ? this.#text(readCall, 'path') : outer;
    if (typeof path !== 'string' && path !== null) return path;
    let fault: Reading | null = null;
    for (const item of items as readonly Json[]) fault ??= this.#item(item, call.line, path);
    return fault;
  }

  /** Reads one of several edits of the call at `line`. */
  #item(item: Json, line: number | null, path: string | null): Reading | null {
    const args = typeof item === 'string' ? jsonIn(item) : item;
    return isJsonObject(args)
      ? this.#take({ name: null, args, line: this.#lineOf(args) ?? line }, path)
      : this.#bad('wrong_type', 'The edit is not an object.');
  }

  /** Reads an edit: what it means, and whether all is there. */
  #one(readCall: ReadCall): Reading | null {
    const { args, outer } = readCall;
    const meaning = this.#meaningOf(readCall);
    if (this.#count >= CALL_EDITS) {
      const message = `The answer contains more than ${CALL_EDITS} edits; at most ${CALL_EDITS} are read.`;
      return invalid('too_many_edits', message);
    }
    const lacking = missing(meaning, args, outer);
    if (lacking.length > 0) return this.#bad('missing_key', this.#lacking(readCall, lacking));
    const extra = besides(meaning, args);
    if (extra !== null) return this.#bad('unknown_key', this.#stranger(readCall, extra));
    if (meaning === 'shell') return this.#shell(readCall);
    if (meaning === 'patch') return this.#patch(readCall);
    const path = args.values.has('path') ? this.#text(readCall, 'path') : outer;
    if (path === null || path === '')
      return this.#bad('missing_key', this.#lacking(readCall, ['path']));
    if (typeof path !== 'string') return path;
    if (meaning === 'replace') return this.#replace(readCall, path);
    if (meaning === 'insert') return this.#insert(readCall, path);
    if (meaning === 'diff') return this.#diff(readCall, path);
    return this.#whole(readCall, path, meaning);
  }

  #meaningOf({ form, args }: ReadCall): Meaning {
    const mode = args.values.get('mode')?.value;
    if (form === null) return meaningByKeys(args) ?? 'replace';
    if (mode === 'append' && form.meaning === 'write') return 'end';
    return mode === 'create' && form.meaning === 'write' ? 'create' : form.meaning;
  }

  #replace(readCall: ReadCall, path: string): Reading | null {
    const [before, after] = [this.#text(readCall, 'old'), this.#text(readCall, 'new')];
    if (typeof before !== 'string') return before;
    if (typeof after !== 'string') return after;
    const all = truthOf(readCall.args.values.get('all')?.value ?? false);
    if (all === null)
      return this.#bad('wrong_type', `\`${this.#keyOf(readCall, 'all')}\` must be true or false.`);
    const stated = readCall.args.values.get('count')?.value;
    const count = stated === undefined ? null : numberOf(stated);
    if (stated !== undefined && (count === null || count < 1))
      return this.#bad(
        'wrong_type',
        `\`${this.#keyOf(readCall, 'count')}\` must be a number of places.`,
      );
    const everywhere = all || (count !== null && count > 1);
    this.#addText(readCall, path, {
      before,
      after,
      everywhere,
      count: count === 1 && all ? null : count,
      behind: null,
      creates: null,
    });
    return null;
  }

  #insert(readCall: ReadCall, path: string): Reading | null {
    const { values } = readCall.args;
    const after = this.#text(readCall, values.has('text') ? 'text' : 'new');
    if (typeof after !== 'string') return after;
    const side = values.has('after') ? 'after' : 'before';
    const line = numberOf(values.get(side)?.value ?? null);
    if (line === null)
      return this.#bad(
        'wrong_type',
        `\`${this.#keyOf(readCall, side)}\` must be the number of a line.`,
      );
    // Of `insert_content` 0 is the end of the file.
    const before = line === 0 ? 'end' : line - 1;
    this.#addText(readCall, path, {
      before: '',
      after,
      everywhere: false,
      count: null,
      behind: side === 'after' ? line : before,
      creates: null,
    });
    return null;
  }

  /** Reads what the whole file holds afterwards, or that it goes. */
  #whole(readCall: ReadCall, path: string, meaning: Meaning): Reading | null {
    const hint = {
      index: this.#count,
      responseLine: readCall.call.line,
      section: this.#section,
      rules: wholeFile.rules,
    };
    if (meaning === 'delete') {
      this.#add({ kind: 'delete', path, before: null, after: null, hint });
      return null;
    }
    const text = this.#text(readCall, 'text');
    if (typeof text !== 'string') return text;
    if (meaning === 'write') {
      this.#written.set(this.#count, text);
      this.#add({
        kind: 'write',
        path,
        before: null,
        after: answerIndex(text),
        hint: { ...hint, unfenced: false, mayBePart: false, refusal: null },
      });
      return null;
    }
    const creates = `${path} exists already, and ${labelOf(readCall)} ${meaning === 'sketch' ? 'may leave lines out' : 'is for new files'}. ${SEND_STRINGS}`;
    const behind = meaning === 'end' ? 'end' : null;
    this.#addText(readCall, path, {
      before: '',
      after: text,
      everywhere: false,
      count: null,
      behind,
      creates,
    });
    return null;
  }

  #addText(
    readCall: ReadCall,
    path: string,
    {
      before,
      after,
      ...more
    }: Pick<TextEdit, 'before' | 'after'> &
      Pick<TextEdit['hint'], 'everywhere' | 'count' | 'behind' | 'creates'>,
  ): void {
    const hint = {
      index: this.#count,
      responseLine: readCall.call.line,
      section: null,
      rules: this.#rules,
      ...more,
    };
    const [old, fresh] = [before, after].map((text) => text.replaceAll('\r\n', '\n'));
    this.#add({ kind: 'text', path, before: old ?? '', after: fresh ?? '', hint });
  }

  #add(edit: Edit): void {
    this.#edits.push(edit);
    this.#count += 1;
    this.#section += 1;
  }

  #patch(readCall: ReadCall): Reading | null {
    const patch = this.#text(readCall, 'patch');
    return typeof patch === 'string' ? this.#nested(readCall, beginPatch, patch) : patch;
  }

  /** Reads the blocks, the patch or the hunks of one file. */
  #diff(readCall: ReadCall, path: string): Reading | null {
    const diff = this.#text(readCall, 'diff');
    if (typeof diff !== 'string') return diff;
    const added = /^(?:\+.*(?:\n|$))+$/.test(diff);
    if (added)
      return this.#nested(
        readCall,
        beginPatch,
        `*** Begin Patch\n*** Add File: ${path}\n${diff.replace(/\n$/, '')}\n*** End Patch`,
      );
    const dialect = GRAMMARS.find(([opening]) => opening.test(diff))?.[1];
    if (dialect === undefined) {
      const message = `The \`${this.#keyOf(readCall, 'diff')}\` of ${labelOf(readCall)} has neither a block \`<<<<<<< SEARCH\` nor a hunk \`@@\`. Send one of them.`;
      return this.#bad('call_unread', message);
    }
    return this.#nested(readCall, dialect, diff, path);
  }

  /** Reads the text of a call in the dialect that it is written in; `only`: the path that all of it must be about. */
  #nested(
    readCall: ReadCall,
    dialect: Dialect,
    body: string,
    only: string | null = null,
  ): Reading | null {
    const { line } = readCall.call;
    const { files } = this.#context;
    const file = only === null ? null : (files.get(only) ?? { bytes: null, text: null });
    const context =
      only === null || file === null
        ? this.#context
        : { ...this.#context, files: new Map([[only, file]]) };
    const inside = dialect.parse(body.replace(/\r\n/g, '\n'), { ...context, whole: true });
    const { fault, edits, count } = inside;
    if (fault !== null) return this.#inside(fault, readCall);
    if (inside.notes.some(({ code }) => code.startsWith('prose')))
      return this.#bad(
        'stray_line',
        `The text of ${labelOf(readCall)} has lines that belong to no edit. Send the edits alone.`,
      );
    const other = only === null ? undefined : edits.find((edit) => edit.path !== only);
    if (other !== undefined)
      return this.#bad(
        'names_differ',
        `${labelOf(readCall)} is about ${only ?? ''}, and its \`diff\` names ${other.path ?? 'another file'}. Send a call for each file.`,
      );
    for (const edit of edits) {
      const { index, section } = edit.hint;
      const hint = {
        ...edit.hint,
        index: index + this.#count,
        section: section === null ? null : section + this.#section,
        responseLine: line,
      };
      this.#edits.push({ ...edit, hint } as Edit);
    }
    this.#count += count;
    this.#section += edits.length + 1;
    return null;
  }

  /** Returns a fault of the text in a call, which says so. */
  #inside(fault: Reading, readCall: ReadCall): Reading {
    if (fault.kind === 'plans') return fault;
    const { line } = readCall.call;
    const where = line === null ? '' : ` (line ${line} of the answer)`;
    const reasons = fault.reasons.map((reason) => ({
      ...reason,
      ...(reason.index === undefined ? {} : { index: reason.index + this.#count }),
      message: `In ${labelOf(readCall)}${where}: ${reason.message.replaceAll('of the answer', 'of its text')}`,
    }));
    return { ...fault, reasons };
  }

  /** Reads a shell command that is `apply_patch` with its patch, and nothing else. */
  #shell(readCall: ReadCall): Reading | null {
    const stated = readCall.args.values.get('command')?.value ?? null;
    const patch = patchInCommand(stated);
    if (patch !== null) return this.#nested(readCall, beginPatch, patch);
    return this.#bad('call_unread', `The answer looks like a shell command. ${UNREAD.shell ?? ''}`);
  }

  /** Refuses a file that gets edits of several kinds, whose order would not be clear. */
  #mixed(): Reading | null {
    const kinds = new Map<string, Kind>();
    for (const [i, edit] of this.#edits.entries()) {
      const kind = kindOf(edit);
      for (const path of pathsOf(edit)) {
        const known = kinds.get(path);
        if (known === undefined) kinds.set(path, kind);
        else if (known === 'whole' && kind === 'text' && this.#becomesText(path, i))
          kinds.set(path, 'text');
        else if (known !== kind)
          return invalid(
            'calls_mixed',
            `${path} is edited by calls of different kinds. Send all edits of a file in one kind of call.`,
            edit.hint.index,
          );
      }
    }
    return null;
  }

  /** Makes a file that is written, and not there before, one that later edits change. Returns whether it could. */
  #becomesText(path: string, before: number): boolean {
    if ((this.#context.files.get(path)?.bytes ?? null) !== null) return false;
    const first = this.#edits.findIndex((edit) => pathsOf(edit).includes(path));
    const edit = this.#edits[first];
    if (edit?.kind !== 'write' || first >= before) return false;
    const after = (this.#written.get(edit.hint.index) ?? '').replaceAll('\r\n', '\n');
    const { index, responseLine } = edit.hint;
    const hint = {
      index,
      responseLine,
      section: null,
      rules: this.#rules,
      everywhere: false,
      count: null,
      behind: null,
      creates: null,
    };
    this.#edits[first] = { kind: 'text', path: edit.path, before: '', after, hint };
    return true;
  }

  #text(readCall: ReadCall, argument: Argument): string | Reading {
    const value = readCall.args.values.get(argument)?.value;
    if (typeof value === 'string') return value;
    const key = this.#keyOf(readCall, argument);
    return this.#bad('missing_key', `\`${key}\` must be a string.`);
  }

  #keyOf({ args, form }: ReadCall, argument: Argument): string {
    return args.values.get(argument)?.key ?? form?.keys[argument] ?? USUAL[argument];
  }

  #lacking(readCall: ReadCall, lacking: readonly Argument[]): string {
    const keys = lacking.map((argument) => `\`${this.#keyOf(readCall, argument)}\``).join(' and ');
    if (readCall.form === null && (lacking[0] === 'old' || lacking[0] === 'new'))
      return 'The edit needs `old_string` and `new_string`, both strings.';
    if (readCall.form === null) return `The edit needs ${keys}.`;
    return `The answer looks like ${labelOf(readCall)} without ${keys}. Send the call again with ${lacking.length > 1 ? 'them' : 'it'}.`;
  }

  #stranger(readCall: ReadCall, key: string): string {
    const { form, args } = readCall;
    const argument = argumentOf(key);
    const twin = argument === null ? undefined : args.values.get(argument)?.key;
    if (twin !== undefined && twin !== key)
      return `The edit has both ${quoted(twin, NAME_CHARS)} and ${quoted(key, NAME_CHARS)}. Send one of them.`;
    if (isKeyOfCalls(key) && argument === null)
      return `${quoted(key, NAME_CHARS)} changes what the edit means, and is not read. Send the exact text without it.`;
    const own =
      form === null
        ? Object.values({
            file_path: 'file_path',
            old_string: 'old_string',
            new_string: 'new_string',
            replace_all: 'replace_all',
          })
        : Object.values(form.keys);
    const whose = form === null ? 'An edit' : `The answer looks like ${labelOf(readCall)}, which`;
    return `${whose} has no key ${quoted(key, NAME_CHARS)}; it has ${own.join(', ')}.`;
  }

  #bad(code: string, message: string, index: number | null = this.#count): Reading {
    const isOfEdit = index !== null && this.#line !== null;
    const lead = isOfEdit ? `Edit ${index + 1} (line ${this.#line} of the answer): ` : '';
    return invalid(code, lead + message, index ?? undefined);
  }
}

/** Returns a key that a call with a list of edits does not have, or null if there is none. */
const strangerToList = ({ values }: Arguments): string | null => {
  const allowed: readonly Argument[] = ['edits', 'path', 'mode', 'command', 'all'];
  return [...values].find(([argument]) => !allowed.includes(argument))?.[1].key ?? null;
};

/** How each grammar of a `diff` begins. */
const GRAMMARS: readonly (readonly [RegExp, Dialect])[] = [
  [new RegExp(BLOCK_OPENING, 'm'), searchBlocks],
  [/^\*\*\* Begin Patch[ \t\r]*$/m, beginPatch],
  [/^@@/m, unifiedDiff],
];

/** A form as a message names it: "a Cline `write_to_file` call". */
const labelOf = ({ form, call }: ReadCall): string => {
  const name = form?.command ?? call.name ?? form?.names[0];
  if (form === null || name === undefined) return 'an edit';
  const [source = ''] = form.source.split(', ');
  const article = /^[AEIO]/i.test(source) ? 'an' : 'a';
  return `${article} ${source} \`${name.slice(0, NAME_CHARS)}\` call`;
};

const kindOf = ({ kind, hint }: Edit): Kind => {
  if (hint.rules.sections !== null) return 'section';
  if (kind === 'write' || kind === 'delete') return 'whole';
  return kind === 'text' ? 'text' : 'lines';
};

/** The files that an edit is about, in normal form. */
const pathsOf = (edit: Edit): readonly string[] => {
  const names = edit.kind === 'file' ? [edit.path, edit.before, edit.after] : [edit.path];
  const paths = names.flatMap((name) => {
    if (name === null) return [];
    const checked = checkPath(name);
    return [checked.ok ? checked.path : name];
  });
  return [...new Set(paths)];
};

/** `true`, and its text; null: neither. */
const truthOf = (value: Json): boolean | null => {
  if (typeof value === 'boolean') return value;
  const word = typeof value === 'string' ? value.trim().toLowerCase() : '';
  if (word === 'true') return true;
  return word === 'false' ? false : null;
};

/** A number from 0, and its text; null: none. */
const numberOf = (value: Json): number | null => {
  const text = typeof value === 'string' || typeof value === 'number' ? String(value).trim() : '';
  return /^\d{1,9}$/.test(text) ? Number(text) : null;
};

const SHELL = /^(?:\/bin\/|\/usr\/bin\/)?(?:bash|sh|zsh)$/;
const HEREDOC = /^\s*apply_patch\s+<<-?\s*(["']?)(\w+)\1[ \t]*\n([^]*?)\n\2\s*$/;

/** Returns the patch that a command hands to `apply_patch`; null: the command does something else. */
const patchInCommand = (command: Json): string | null => {
  const words = (Array.isArray(command) ? command : [command]) as readonly Json[];
  if (!words.every((word) => typeof word === 'string')) return null;
  const [program = '', argument = '', script = ''] = words;
  if (program === 'apply_patch' && words.length === 2) return argument;
  const isShell = words.length === 3 && SHELL.test(program) && /^-l?c$/.test(argument);
  if (!isShell && words.length > 1) return null;
  return HEREDOC.exec((isShell ? script : program).replace(/\r\n/g, '\n'))?.[3] ?? null;
};
