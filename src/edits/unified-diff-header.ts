/** The header of one file of a diff. */
import { readName } from './unified-diff-names.js';

export interface FileHeader {
  /** 1-based line of the answer. */
  readonly answerLine: number;
  /** Names of `---` and `+++` with their prefixes; null: /dev/null; absent: no such lines. */
  from?: string | null;
  to?: string | null;
  /** The names of the `diff --git` line, where they can be told apart. */
  git?: { readonly from: string; readonly to: string };
  rename?: { readonly from?: string; readonly to?: string };
  /** Mode words as written: `100644`. */
  oldMode?: string;
  newMode?: string;
  created?: boolean;
  deleted?: boolean;
  /** What it does that is refused by name. */
  unsupported?: { readonly code: string; readonly message: string };
}

const WORDS =
  /^(old mode|new mode|new file mode|deleted file mode|rename from|rename to|copy from|copy to|similarity index|dissimilarity index|index) (.+)$/;
const COPY = 'Copies are not supported. Send the new file as an addition of its own (--- /dev/null).';
const SUBMODULE = 'Changes of submodules are not supported.';
const SYMLINK = 'Changes of symbolic links are not supported.';

/** Notes one extended header line (`rename from x`) in `file`; false: it is none. */
export const readExtendedHeader = (line: string, file: FileHeader): boolean => {
  const [, word, value = ''] = WORDS.exec(line) ?? [];
  switch (word) {
    case undefined:
      return false;
    case 'old mode':
    case 'deleted file mode':
      if (word === 'deleted file mode') file.deleted = true;
      noteMode(file, value);
      break;
    case 'new mode':
    case 'new file mode':
      if (word === 'new file mode') file.created = true;
      file.newMode = value;
      noteMode(file, value);
      break;
    case 'rename from':
    case 'rename to': {
      const name = readName(value);
      if (name === null) return false;
      file.rename = { ...file.rename, [word === 'rename from' ? 'from' : 'to']: name };
      break;
    }
    case 'copy from':
    case 'copy to':
      file.unsupported = { code: 'copy', message: COPY };
      break;
    case 'index':
      noteMode(file, / (\d{6})$/.exec(value)?.[1] ?? '');
  }
  return true;
};

const noteMode = (file: FileHeader, mode: string): void => {
  if (mode === '160000') file.unsupported = { code: 'submodule', message: SUBMODULE };
  else if (mode === '120000') file.unsupported = { code: 'symlink', message: SYMLINK };
};

/** Permission bits of a mode word, or null where git knows no such mode. */
export const permissions = (mode: string): number | null =>
  mode === '100644' ? 0o644 : mode === '100755' ? 0o755 : null;
