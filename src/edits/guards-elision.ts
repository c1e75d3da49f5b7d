/** A model that writes "rest of the code unchanged" instead of the code has left the code out. */
import type { Finding } from '../shared/formats.js';
import { type GuardView, eachNewLine } from './guards-view.js';

/** What comments begin with, in the languages that models write. */
const COMMENT = /^\s*(\/\/|\/\*+|\*|#|--|;+|%|<!--|\{\/\*|"""|''')\s*/;
const DOTS = /(\.{3,}|…)/;
const LEFT_OUT =
  /\b(rest|remainder|remaining|existing|unchanged|same|previous|other|omitted|elided|truncated|snipped?|as before|no changes?|keep)\b/i;
const PHRASE =
  /\b(rest|remainder) of (the |this |your |my )?(existing |original )?(code|file|class|function|method|module|implementation|content|script|component|tests?)\b.{0,40}\b(unchanged|same|remains?|stays?|here|as (is|before)|omitted|continues?|goes here)\b|\b(code|content|lines|methods|functions|imports) (is |are )?(omitted|elided) for brevity\b|\b(existing|unchanged|remaining) (code|content|lines|methods|functions|imports|implementation)( here| goes here| remains?| unchanged)?\s*(\*\/|-->|\*\/\})?\s*$/i;
/** `...` alone, or with words that say what is left out; also `[... unchanged ...]` outside comments. */
const BRACKETED = /^\s*[[(<{]\s*(\.{3}|…).{0,80}(\.{3}|…)?\s*[\])>}]\s*$/;

/** Does a line stand for text that was left out? */
const isElision = (line: string): boolean => {
  if (line.length > 300) return false;
  const comment = COMMENT.test(line);
  const text = line.replace(COMMENT, '');
  if (comment && (PHRASE.test(text) || (DOTS.test(text) && LEFT_OUT.test(text)))) return true;
  if (BRACKETED.test(line) && LEFT_OUT.test(line)) return true;
  return /^\s*(\.{3}|…)\s+\S.*[^,;]$/.test(line) && LEFT_OUT.test(line) && line.trim().split(/\s+/).length <= 12;
};

/**
 * New lines that stand for left-out text. Where more base lines went away than came at the same place, text is lost: `refuse`.
 * Elsewhere it may be a comment that means what it says: `ask`.
 */
export const elisionFindings = (view: GuardView): Finding[] => {
  const { path, base } = view;
  // Few results have such a line at all.
  let known: ReadonlySet<string> | null = null;
  const findings: Finding[] = [];
  eachNewLine(view, (line, at, change) => {
    if (!isElision(line)) return;
    known ??= new Set(base.all.map((old) => old.trim()));
    if (known.has(line.trim())) return;
    const lost = Math.max(0, change.to - change.from - change.lines.length);
    const message =
      lost > 0
        ? `Line ${at + 1} of the new ${path} (${JSON.stringify(line.trim().slice(0, 100))}) stands where more of the file was (${lost} lines fewer). Send the text itself, not a note that it stays.`
        : `Line ${at + 1} of the new ${path} reads as if text were left out: ${JSON.stringify(line.trim().slice(0, 100))}.`;
    findings.push({ guard: 'elision', severity: lost > 0 ? 'refuse' : 'ask', path, lines: [at + 1, at + 1], message });
  });
  return findings;
};
