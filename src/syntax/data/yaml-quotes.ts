/**
 * Quoted strings whose further lines are indented no more than what is around them. YAML 1.2 forbids them, and so does the library, but
 * libyaml and Go's parser accept them: PyYAML, Docker Compose, Kubernetes, Ansible.
 */
import { Lexer } from 'yaml';

const JOINED = 20; // bound: A file with more such strings is left alone; each costs a pass over the file.

/** Tokens that stand for no characters: the start of a document, the end of a flow collection, and what precedes a plain or block scalar. */
const DOCUMENT = '\u0002';
const FLOW_END = '\u0018';
const SCALAR = '\u001f';
const EMPTY: ReadonlySet<string> = new Set([DOCUMENT, FLOW_END, SCALAR]);

const WHOLE = /^(?:"(?:[^"\\]|\\[^])*"|'(?:[^']|'')*')$/;
const FROM_QUOTE = /"(?:[^"\\]|\\[^])*"|'(?:[^']|'')*'/y;
const DOCUMENT_MARK = /\n(?:---|\.\.\.)\s/;

/** Returns the text with the lines of such strings joined by spaces; the text itself if it has none or too many. */
export const withJoinedQuotes = (text: string): string => {
  let joined = text;
  for (let count = 0; count < JOINED; count += 1) {
    const next = withFirstJoined(joined);
    if (next === null) return joined;
    joined = next;
  }
  return text;
};

/** Null: the lexer cut no string that ends further down. */
const withFirstJoined = (text: string): string | null => {
  let offset = 0;
  let isUnquoted = false;
  for (const token of new Lexer().lex(text)) {
    if (!isUnquoted && /^["']/.test(token) && !WHOLE.test(token)) {
      FROM_QUOTE.lastIndex = offset;
      const [quoted] = FROM_QUOTE.exec(text) ?? [];
      if (quoted === undefined || DOCUMENT_MARK.test(quoted)) return null;
      const end = offset + quoted.length;
      return text.slice(0, offset) + quoted.replace(/[\r\n]/g, ' ') + text.slice(end);
    }
    isUnquoted = token === SCALAR;
    if (!EMPTY.has(token)) offset += token.length;
  }
  return null;
};
