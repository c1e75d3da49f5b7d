/** Names in diff headers: git's quoting, the a/ and b/ prefixes, and `diff --git` lines that carry two names in one. */

export const DIFF_NAME_CHARS = 40_000; // bound: A `diff --git` line: two of the longest paths, escaped.

const ESCAPES: Readonly<Record<string, number>> = {
  a: 7,
  b: 8,
  t: 9,
  n: 10,
  v: 11,
  f: 12,
  r: 13,
  '"': 34,
  '\\': 92,
};

/** Reads a C string at the start of `text` ("caf\303\251.txt"): its value and what follows, or null where it is broken. */
const readQuoted = (text: string): { readonly name: string; readonly rest: string } | null => {
  if (!text.startsWith('"')) return null;
  const bytes: number[] = [];
  const encoder = new TextEncoder();
  for (let i = 1; i < text.length;) {
    const c = text[i] ?? '';
    if (c === '"') {
      try {
        const name = new TextDecoder('utf-8', { fatal: true }).decode(Uint8Array.from(bytes));
        return { name, rest: text.slice(i + 1) };
      } catch {
        return null;
      }
    }
    if (c !== '\\') {
      const character = String.fromCodePoint(text.codePointAt(i) ?? 0);
      bytes.push(...encoder.encode(character));
      i += character.length;
      continue;
    }
    const octal = /^[0-3][0-7]{2}/.exec(text.slice(i + 1, i + 4));
    const code = octal ? Number.parseInt(octal[0], 8) : ESCAPES[text[i + 1] ?? ''];
    if (code === undefined) return null;
    bytes.push(code);
    i += octal ? 4 : 2;
  }
  return null;
};

/** A name of a `---`, `+++`, `rename` line; a time stamp after a tab is dropped. Null: broken quoting or no name. */
export const readName = (text: string): string | null => {
  if (text.startsWith('"')) {
    const { name, rest } = readQuoted(text) ?? { name: '', rest: '' };
    return name !== '' && (rest === '' || rest.startsWith('\t')) ? name : null;
  }
  const tab = text.indexOf('\t');
  const name = tab < 0 ? text : text.slice(0, tab);
  return name === '' ? null : name;
};

/** Between name and time or revision: a tab, as the tools write it, or what became of it. */
const STAMP =
  /\t| (?=\d{4}-\d\d-\d\d \d\d:\d\d|\((?:revision \d{1,9}|working copy|nonexistent)\)$)/;
/** How \`diff -N\`, \`hg diff\` and \`svn diff\` say that the file is not there. */
const ABSENT =
  /^(?:1970-01-01 |1969-12-31 |Thu Jan 0?1 00:00:00 1970|\(nonexistent\)|\(revision 0\))/;

/** The name of a `---` or `+++` line, and whether its stamp says that there is no such file. Null: as `readName`. */
export const readStamped = (
  text: string,
): { readonly name: string; readonly isAbsent: boolean } | null => {
  const offset = text.startsWith('"') ? text.lastIndexOf('"') + 1 : text.search(STAMP);
  const name = readName(offset < 0 ? text : text.slice(0, offset).trimEnd());
  return name === null
    ? null
    : { name, isAbsent: offset >= 0 && ABSENT.test(text.slice(offset).trimStart()) };
};

// Prefixes come in pairs: git's own, and those of diff.mnemonicPrefix (index, worktree, commit, object) in both directions.
const PAIRS = ['ab', 'ba', 'ic', 'iw', 'ci', 'cw', 'ow', 'wi', 'wc', 'wo', 'co', 'oc'];

const BACKUPS = ['.orig', '.old', '.bak', '.new', '~'];

export type Names = Readonly<Record<'from' | 'to', string | null>>;

/** Both names without their prefixes; null stays null (/dev/null). `known` says which paths were offered and settles what a lone name means. */
export const withoutPrefixes = (names: Names, isOffered: (path: string) => boolean): Names => {
  const { from, to } = names;
  if (from !== null && to !== null) {
    if (from === to && isOffered(from)) return names;
    const arePaired =
      from[1] === '/' && to[1] === '/' && PAIRS.includes(from.charAt(0) + to.charAt(0));
    return arePaired ? { from: from.slice(2), to: to.slice(2) } : names;
  }
  const lone = (name: string | null, side: string): string | null => {
    if (name === null || !/^[abciow]\//.test(name)) return name;
    const [is, isRest] = [isOffered(name), isOffered(name.slice(2))];
    // A file that goes away is there, with whichever prefix; a new one may be made in a folder of that name.
    const isPrefixed = name.startsWith(side) ? isRest || !is : isRest && !is && from !== null;
    return isPrefixed ? name.slice(2) : name;
  };
  return { from: lone(from, 'a/'), to: lone(to, 'b/') };
};

/** The one file that `diff` was given under two names: `old/x` and `new/x` of two folders, `x.orig` and `x`. Null: they are two files. */
export const sameFile = (
  from: string,
  to: string,
  isOffered: (path: string) => boolean,
): string | null => {
  const [short, long] = from.length < to.length ? [from, to] : [to, from];
  if (long.startsWith(short) && BACKUPS.includes(long.slice(short.length)))
    return isOffered(short) ? short : null;
  const [old, fresh] = [from, to].map((name) => /^[^./][^/]*\/(.+)$/.exec(name)?.[1]);
  return from !== to && old !== undefined && old === fresh && !isOffered(from) && !isOffered(to)
    ? old
    : null;
};

/** The two names of a `diff --git` line, with their prefixes; null where blanks in them leave several readings. */
export const readGitLine = (
  rest: string,
): { readonly from: string; readonly to: string } | null => {
  if (rest.length > DIFF_NAME_CHARS) return null;
  if (rest.startsWith('"')) {
    const first = readQuoted(rest);
    if (first?.rest[0] !== ' ') return null;
    const to = readName(first.rest.slice(1));
    return to === null ? null : { from: first.name, to };
  }
  const quote = rest.indexOf(' "');
  if (quote > 0) {
    const to = readQuoted(rest.slice(quote + 1));
    return to?.rest === '' ? { from: rest.slice(0, quote), to: to.name } : null;
  }
  const halves: { from: string; to: string }[] = [];
  for (let offset = rest.indexOf(' '); offset > 0; offset = rest.indexOf(' ', offset + 1))
    halves.push({ from: rest.slice(0, offset), to: rest.slice(offset + 1) });
  if (halves.length === 1) return halves[0] ?? null;
  // Git writes both names in full; without a rename they are the same but for the prefix.
  const same = halves.filter(({ from, to }) => {
    const plain = withoutPrefixes({ from, to }, () => false);
    return from === to || plain.from === plain.to;
  });
  return same.length === 1 ? (same[0] ?? null) : null;
};
