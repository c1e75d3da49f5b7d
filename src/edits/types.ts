/** The words of the edit engine. Pure: bytes in, bytes out, no I/O. `index.ts` exports what other programs use. */
import type { Text } from './text/lines.js';
import type {
  AnswerFormat,
  Finding,
  GuardSettings,
  Tolerance,
  ToleranceSettings,
} from '../shared/formats.js';
import type { FilePlan } from './text/changes.js';
import type { Syntax } from './syntax-port.js';

/** A file before and after a change. */
export interface ChangedFile {
  readonly path: string;
  /** Null: the file is made. */
  readonly base: Uint8Array | null;
  /** Null: the file is deleted. */
  readonly result: Uint8Array | null;
  /** POSIX mode bits; git knows executable or not. */
  readonly baseMode?: number | undefined;
  readonly resultMode?: number | undefined;
  /** Configured encoding, for a file that is not UTF-8. */
  readonly encoding?: string | undefined;
}

/** A file as it was offered to the model. */
export interface OfferedFile {
  /** Exact bytes; `null`: the file does not exist yet and may be created. */
  readonly bytes: Uint8Array | null;
  /** POSIX mode bits (0o777 part), where known. */
  readonly mode?: number;
  /** Encoding named by configuration for a file that is neither UTF-8 nor UTF-16 with BOM. */
  readonly encoding?: string;
  /** 1-based inclusive ranges of lines that the model was shown; absent: the whole file. */
  readonly seen?: readonly (readonly [number, number])[];
  /** 1-based inclusive lines that this answer may change (structured-edit); absent: all. */
  readonly region?: readonly [number, number];
}

/** Why the model stopped, as the Messages API says it. */
export type StopReason =
  | 'end_turn'
  | 'stop_sequence'
  | 'max_tokens'
  | 'length'
  | 'refusal'
  | (string & {})
  | null;

/** What an answer is read and checked by. */
export interface ApplyOptions {
  /** The nonce that the request asked for; absent: the answer's marker lines carry none. */
  readonly nonce?: string;
  /** Refuse to use an answer without its completeness marker (`unmarked`). */
  readonly requireMarker: boolean;
  /** The API's stop reason; absent: not known (a file on disk), taken as `end_turn`. */
  readonly stopReason?: StopReason;
  /** Which tolerances may be used; absent ones have their default. */
  readonly tolerances?: ToleranceSettings;
  /** sha-256 (hex) that a file must have, by path; another base is `refused` with dimension `base`. */
  readonly base?: ReadonlyMap<string, string>;
  /** `final_newline:` of the job; absent: as the base, and a new file ends with one. */
  readonly finalNewline?: boolean;
  /** What new files end their lines with (from .editorconfig, .gitattributes, siblings); default LF. */
  readonly newFileEol?: '\n' | '\r\n';
  /** The same by path, which counts before it. */
  readonly newFileEols?: ReadonlyMap<string, '\n' | '\r\n'>;
  /** May the answer delete files? Default false: a deletion is `refused`. */
  readonly allowDelete?: boolean;
  /** May the answer create files that were not offered, below these workspace-relative directories ('' = anywhere)? Default none. */
  readonly mayCreateUnder?: readonly string[];
  /** Loaded grammars (`emend/syntax`), for places by symbol and the guards on syntax; absent: the first are refused, the others find nothing. */
  readonly syntax?: Syntax;
  /** The severity of everything that a guard finds; `refuse` refuses the answer. Absent ones have their default. */
  readonly guards?: GuardSettings;
  /** What was asked for: a definition that it names may go. */
  readonly asked?: string;
  /** Paths of files and folders that are there beside those offered: for the guard `file_name`, and to tell a file that is not there. */
  readonly beside?: readonly string[];
  /** Paths of files that have other names as well (hard links): for the guard `hard_link`. */
  readonly linked?: readonly string[];
  /** Files that are not offered and that the model knows, as context or as files that are deleted: a line of theirs stands for no other. */
  readonly elsewhere?: readonly FileContent[];
}

/** Bytes of a file, and how they are read. */
export type FileContent = Pick<OfferedFile, 'bytes' | 'encoding'>;

/** Replace the bytes [start, end) of the base by `bytes`. Splices of a file are in order and do not overlap. */
export interface Splice {
  readonly start: number;
  readonly end: number;
  readonly bytes: Uint8Array;
}

/** Why something in an answer was not used: data that a model can act on and a person can read. */
export interface Reason {
  /** Stable word, for example `find_absent`, `find_repeated`, `context_mismatch`, `out_of_range`, `overlap`, `unseen_lines`,
   *  `file_not_offered`, `unknown_file`, `bad_path`, `not_json`, `unknown_operation`, `no_edits`, `marker_missing`, `cut_inside_string`. */
  readonly code: string;
  readonly path?: string;
  /** 0-based index of the operation, hunk or block in the answer. */
  readonly index?: number;
  /** One or more sentences: what was looked for, nearest place, first line that differs (expected, found), what to send instead. */
  readonly message: string;
  /** For the next attempt alone, as it is text of the file: what stands at the nearest place, to be copied. */
  readonly copy?: string;
}

/** The same of an edit whose place in the answer is not said yet. */
export type Fault = Pick<Reason, 'code' | 'message' | 'copy'>;

/** A tolerance that an edit needed, and where. */
export interface UsedTolerance {
  readonly tolerance: Tolerance;
  readonly path: string;
  readonly index?: number;
  /** 1-based line of the base where it was used. */
  readonly line?: number;
}

/** A file as the answer leaves it. */
export interface ResultFile {
  readonly bytes: Uint8Array;
  readonly mode?: number;
}

/** What became of one edit (operation, hunk, block or file) of an answer. */
export interface EditResult {
  /** 0-based, in the answer's order. */
  readonly index: number;
  /** `skipped`: it had nothing to do. `failed`: `reasons` say why. `unused`: nothing is said against it, but another one failed. */
  readonly status: 'applied' | 'skipped' | 'failed' | 'unused';
  /** Refusals, or notes, about this edit. */
  readonly reasons: readonly Reason[];
}
/** Counts over all edits of an answer; `results` lists the first 10,000. */
export interface EditResults extends Readonly<Record<EditResult['status'], number>> {
  readonly results: readonly EditResult[];
}

/** What an answer makes of the files. */
export interface Edited {
  readonly outcome: 'edited';
  /** Only files that changed. `'absent'`: deleted. */
  readonly files: ReadonlyMap<string, ResultFile | 'absent'>;
  readonly renames: readonly { readonly from: string; readonly to: string }[];
  readonly splices: ReadonlyMap<string, readonly Splice[]>;
  readonly tolerances: readonly UsedTolerance[];
  readonly findings: readonly Finding[];
  /** Harmless oddities: blocks skipped because FIND equals REPLACE, `already_present`, prose around the answer. */
  readonly notes: readonly Reason[];
  /** The answer's own one-line summary, where the format has one. */
  readonly summary?: string;
  /** What became of each edit; absent where the answer's edits could not be told apart. */
  readonly edits?: EditResults;
}
/** Why an answer changes nothing. */
export interface NotEdited {
  readonly outcome:
    | 'unchanged'
    | 'truncated'
    | 'unmarked'
    | 'invalid'
    | 'refused'
    | 'declined'
    | 'needs_lines';
  readonly reasons: readonly Reason[];
  /** With `needs_lines`: what the model wants to be shown; 1-based inclusive ranges inside the file. */
  readonly needs?: {
    readonly path: string;
    readonly ranges: readonly (readonly [number, number])[];
  };
  /** As in `Edited`; also absent where the answer was cut off or declined. */
  readonly edits?: EditResults;
}
/** The outcome of one answer (the table in edits/apply-answer.ts): whole or not at all. */
export type AnswerOutcome = Edited | NotEdited;

/** An answer, and the files that it is for. */
export interface ApplyAnswerInput {
  readonly format: AnswerFormat;
  readonly answer: string;
  readonly files: ReadonlyMap<string, OfferedFile>;
  readonly options: ApplyOptions;
}

/** What settle.ts makes of a response; this and what follows is between the engine's own modules. */
export type Reading =
  | (Pick<Edited, 'tolerances' | 'notes' | 'summary'> & {
      readonly kind: 'plans';
      readonly plans: readonly FilePlan[];
    })
  /** The grammar of the format is broken. `open`: the text ends inside an open block, string or bracket (a cut answer). */
  | { readonly kind: 'invalid'; readonly open: boolean; readonly reasons: readonly Reason[] }
  /** Well formed, but does not fit these bytes. */
  | {
      readonly kind: 'refused';
      readonly reasons: readonly Reason[];
      /** No edit: the model asks for lines that it was not shown (settle/lines-request.ts). */
      readonly needs?: NonNullable<NotEdited['needs']>;
    };

/** An offered file as the engine sees it. */
export interface ContextFile extends OfferedFile {
  /** Null: the file does not exist yet, or (beside bytes) cannot be read as text. */
  readonly text: Text | null;
  /** Why bytes are not text that can be edited. */
  readonly unreadable?: { readonly code: 'binary' | 'encoding'; readonly why: string };
  /** The file begins with a byte order mark, so one that an answer quotes at a line's start is that one (`text/to-splices.ts`). */
  readonly hasBom?: boolean;
}

/** What a response is settled with. */
export interface FormatContext {
  readonly files: ReadonlyMap<string, ContextFile>;
  readonly options: ApplyOptions;
  /** The completeness marker was right: the body is known to be whole, so wrong counts at its end are a slip, not a cut. */
  readonly whole?: boolean;
  /** Lines of the answer before the body. */
  readonly linesBefore?: number | undefined;
}

/** What a dialect reads a response with: of the files' text it learns only whether they hold a line. */
export interface ParseContext extends FormatContext {
  /** Does any file hold the line, white space around it aside? `isCut`: a line that begins so will do. */
  readonly holdsLine: (text: string, isCut: boolean) => boolean;
}
