/**
 * Reads the simple commands of a shell line that git's configuration names. The reader understands little on purpose: `null` means that
 * Emend cannot say which programs the line starts.
 */

const LINE_CHARS = 8_192; // bound: Length of a line that is read. Longer ones count as not understood.
const DEPTH = 4; // bound: Nested `$(…)`.

export interface Word {
  readonly text: string;
  /** The shell takes the text as it is: it expands no variable, command or pattern in it. */
  readonly isLiteral: boolean;
}
export interface SimpleCommand {
  readonly words: readonly Word[];
}
export interface ShellLine {
  readonly commands: readonly SimpleCommand[];
  /** Functions that the line defines. */
  readonly functions: ReadonlySet<string>;
}

/** After these the next word is a command. */
const BEFORE_COMMANDS = new Set('{ } ! if then else elif fi while until do done'.split(' '));
const NOT_UNDERSTOOD = new Set('for case esac select function coproc [[ time'.split(' '));
/** Variables that change no program. */
const HARMLESS_VARIABLE = /^(?:LC_[A-Z]+|LANG|TZ)=/;
const VARIABLE = /^\$(?:[A-Za-z_]\w*|[0-9@*#?]|\{[A-Za-z_]\w*\}|\{[0-9]\})/;
const REDIRECTION = /^(?:>>|>&|<&|>\||>|<)[ \t]*/;

class NotUnderstood extends Error {}

class Reader {
  readonly commands: SimpleCommand[] = [];
  readonly functions = new Set<string>();
  readonly #line: string;
  #at = 0;
  constructor(line: string) {
    this.#line = line;
  }

  get #rest(): string {
    return this.#line.slice(this.#at);
  }

  /** Reads commands up to the end of the line, or of the `$(…)` that they are in. */
  readList(depth: number): void {
    if (depth > DEPTH) throw new NotUnderstood();
    let words: Word[] = [];
    const end = (): void => {
      if (words.length > 0) this.commands.push({ words });
      words = [];
    };
    for (;;) {
      const char = this.#line[this.#at];
      if (char === undefined || char === ')') {
        end();
        if ((char === ')') !== depth > 0) throw new NotUnderstood();
        this.#at += 1;
        return;
      }
      if (/[ \t]/.test(char)) this.#at += 1;
      else if (/[;\n&|]/.test(char)) {
        this.#at += 1;
        end();
      } else if (char === '(') {
        this.#readFunction(words);
        words = [];
      } else if (!this.#skipRedirection()) {
        const word = this.#readWord(depth);
        this.#take(words, word);
      }
    }
  }

  #take(words: Word[], word: Word): void {
    if (words.length === 0 && word.isLiteral) {
      if (BEFORE_COMMANDS.has(word.text) || HARMLESS_VARIABLE.test(word.text)) return;
      if (NOT_UNDERSTOOD.has(word.text) || /^\w+=/.test(word.text)) throw new NotUnderstood();
    }
    words.push(word);
  }

  #readFunction(words: readonly Word[]): void {
    const [name] = words;
    const parentheses = /^\([ \t]*\)/.exec(this.#rest)?.[0];
    if (words.length !== 1 || name?.isLiteral !== true || parentheses === undefined)
      throw new NotUnderstood();
    this.functions.add(name.text);
    this.#at += parentheses.length;
  }

  /** Output may only be dropped or sent to another descriptor: a file could be a program that runs later. */
  #skipRedirection(): boolean {
    const redirection = /^[0-9]?(?:>&[ \t]*[0-9]|[<>][ \t]*\/dev\/null)(?=[\s;&|)]|$)/.exec(
      this.#rest,
    );
    if (redirection !== null) {
      this.#at += redirection[0].length;
      return true;
    }
    if (REDIRECTION.test(this.#rest)) throw new NotUnderstood();
    return false;
  }

  #readWord(depth: number): Word {
    // A `#` elsewhere in a word is no comment.
    if (this.#rest.startsWith('#')) throw new NotUnderstood();
    // The shell takes a quoted `~` as the name of a file.
    let isLiteral = !/^["'\\]+~/.test(this.#rest);
    let text = '';
    let hasBraces = false;
    for (;;) {
      const char = this.#line[this.#at];
      if (char === undefined || /[ \t\n;&|()<>]/.test(char))
        return { text, isLiteral: isLiteral && !(hasBraces && text.length > 1) };
      if (/[{}]/.test(char)) hasBraces = true;
      const part = this.#readPart(char, depth);
      text += part.text;
      isLiteral &&= part.isLiteral;
    }
  }

  /** Reads the part of a word that a character begins: a quotation, an expansion, an escape, or the character alone. */
  #readPart(char: string, depth: number): Word {
    switch (char) {
      case "'":
        return { text: this.#readQuoted(), isLiteral: true };
      case '"':
        return this.#readDoubleQuoted(depth);
      case '$':
        this.#readExpansion(depth);
        return { text: '', isLiteral: false };
      case '`':
        throw new NotUnderstood();
      case '\\':
        return { text: this.#readEscaped(), isLiteral: true };
      default: {
        // `[` alone is a command, and a pattern elsewhere.
        const isPattern = /[*?]/.test(char) || (char === '[' && !/^\[(?:\s|$)/.test(this.#rest));
        this.#at += 1;
        return { text: char, isLiteral: !isPattern };
      }
    }
  }

  #readEscaped(): string {
    const char = this.#line[this.#at + 1] ?? '';
    if (char === '\n') throw new NotUnderstood();
    this.#at += 2;
    return char;
  }

  #readQuoted(): string {
    const end = this.#line.indexOf("'", this.#at + 1);
    if (end < 0) throw new NotUnderstood();
    const text = this.#line.slice(this.#at + 1, end);
    this.#at = end + 1;
    return text;
  }

  #readDoubleQuoted(depth: number): Word {
    let text = '';
    let isLiteral = true;
    this.#at += 1;
    for (;;) {
      const char = this.#line[this.#at];
      if (char === undefined || char === '`') throw new NotUnderstood();
      if (char === '$' && /^\$[A-Za-z_0-9@*#?{(]/.test(this.#rest)) {
        this.#readExpansion(depth);
        isLiteral = false;
        continue;
      }
      this.#at += 1;
      if (char === '"') return { text, isLiteral };
      if (char === '\\' && this.#line[this.#at] === '\n') throw new NotUnderstood();
      const isEscape = char === '\\' && /[$`"\\]/.test(this.#line[this.#at] ?? '');
      text += isEscape ? (this.#line[this.#at] ?? '') : char;
      if (isEscape) this.#at += 1;
    }
  }

  #readExpansion(depth: number): void {
    if (/^\$\((?!\()/.test(this.#rest)) {
      this.#at += 2;
      this.readList(depth + 1);
      return;
    }
    const variable = VARIABLE.exec(this.#rest)?.[0];
    if (variable === undefined) throw new NotUnderstood();
    this.#at += variable.length;
  }
}

/** Returns the simple commands of a line, also those in functions and in `$(…)`; null: the line is not understood. */
export function readShellLine(line: string): ShellLine | null {
  if (line.length > LINE_CHARS || line.includes('\0')) return null;
  const reader = new Reader(line);
  try {
    reader.readList(0);
  } catch (error) {
    if (error instanceof NotUnderstood) return null;
    throw error;
  }
  return reader;
}
