/**
 * Guards that look at syntax trees, before against after: new syntax errors, definitions that vanished without being asked for, and
 * definitions that stand twice. A file whose language is not known has none of them; one that is too large for a tree is told so.
 */
import type { Finding } from '../../shared/formats.js';
import { tally } from '../../shared/text.js';
import { type GuardView, prefixes } from './view.js';
import {
  lastName,
  type Outline,
  type OutlineRead,
  type Syntax,
  type SymbolPlace,
} from '../syntax-port.js';

export const SYNTAX_FINDINGS = 20; // bound: Findings of new syntax errors in one file.

export interface TreeView {
  readonly path: string;
  readonly base: OutlineRead;
  readonly result: OutlineRead;
}

/** The lines are made only where a tree may be made of them. */
const outlineOf = (
  syntax: Syntax,
  path: string,
  lines: GuardView['base'] | GuardView['result'],
): Outline => syntax.unread?.(path, lines.leastChars) ?? syntax.outline(path, lines.all);

/** Null: there is nothing to compare. */
export const treesOf = (
  view: GuardView,
  syntax: Syntax,
): { readonly trees: TreeView | null; readonly findings: Finding[] } => {
  const { path } = view;
  const [base, result] = [outlineOf(syntax, path, view.base), outlineOf(syntax, path, view.result)];
  if (base.kind === 'read' && result.kind === 'read')
    return { trees: { path, base, result }, findings: [] };
  const unread = [base, result].find((outline) => outline.kind === 'unread');
  if (unread === undefined || unread.code === 'language_unknown')
    return { trees: null, findings: [] };
  const message = `The syntax of ${path} was not checked: ${unread.why}`;
  return { trees: null, findings: [{ guard: 'syntax', severity: 'note', path, message }] };
};

/** Errors that the base did not have: those on kept lines with an error in the base are old ones. Where there are no more than before, one may only have moved. */
export const syntaxErrors = ({ path, base, result }: TreeView, view: GuardView): Finding[] => {
  const old = new Set(base.faults.map(({ from, missing }) => `${from} ${missing ?? ''}`));
  const fresh = result.faults.filter(
    ({ from, missing }) => !old.has(`${view.result.origin(from)} ${missing ?? ''}`),
  );
  const severity = result.faults.length > base.faults.length ? 'ask' : 'note';
  return fresh.slice(0, SYNTAX_FINDINGS).map(({ from, to, missing }) => {
    const text = JSON.stringify(view.result.line(from).trim().slice(0, 80));
    const what = missing === null ? 'does not fit the grammar' : `lacks ${missing}`;
    const message = `Line ${from + 1} of the new ${path} ${what} (${result.language}): ${text}.`;
    return { guard: 'syntax', severity, path, lines: [from + 1, Math.max(from, to) + 1], message };
  });
};

/** Values come and go; what others call or build on is what must not be lost. */
const KEPT = new Set<SymbolPlace['kind']>([
  'function',
  'method',
  'class',
  'interface',
  'type',
  'namespace',
]);

/**
 * Definitions of the base whose name is gone. Named in the instructions, or there under another file of the same result: a note, it was
 * asked for or moved. What was inside of one that is lost is not told again. Where the result does not parse, `syntax` says so.
 */
export const lostSymbols = (all: readonly TreeView[], asked: string): Finding[] =>
  all.flatMap(({ path, base, result }) => {
    const still = new Set(result.symbols.map(({ qualified }) => qualified));
    const gone = base.symbols.filter(
      ({ qualified, kind }) => KEPT.has(kind) && !still.has(qualified),
    );
    const names = new Set(gone.map(({ qualified }) => qualified));
    const outer = [...new Map(gone.map((symbol) => [symbol.qualified, symbol])).values()].filter(
      ({ qualified }) => !prefixes(qualified, '.').some((of) => of !== qualified && names.has(of)),
    );
    const hidden = result.faults.length > base.faults.length;
    return outer.slice(0, SYNTAX_FINDINGS).map((symbol): Finding => {
      const moved = all.find((other) => other.path !== path && gained(other, symbol));
      const name = lastName(symbol.qualified);
      const wanted = moved === undefined && mentions(asked, name);
      const isLost = moved === undefined && !wanted;
      const where = `${symbol.qualified} (${symbol.kind}, line ${symbol.from + 1} of the old ${path})`;
      const removed = wanted ? 'was removed; the instructions name it.' : 'was removed.';
      const why = moved === undefined ? removed : `moves to ${moved.path}.`;
      const isDefined = all.some(({ result: now }) =>
        now.symbols.some((other) => lastName(other.qualified) === name),
      );
      const doubt = hidden && isLost ? ' New syntax errors may merely hide it.' : '';
      const severity = isLost ? 'ask' : 'note';
      const message = `${where} ${why}${doubt}`;
      return {
        guard: 'lost_symbol',
        severity,
        path,
        lines: [symbol.from + 1, symbol.to],
        message,
        ...(isDefined || hidden || UNCALLED.test(name)
          ? {}
          : { gone: symbol.kind === 'method' ? `.${name}` : name }),
      };
    });
  });

/** Nobody calls these by name. */
const UNCALLED = /^(?:constructor|__\w+__|default|<.*)$/;

const gained = ({ base, result }: TreeView, { qualified, kind }: SymbolPlace): boolean => {
  const has = (symbols: readonly SymbolPlace[]): boolean =>
    symbols.some((s) => s.qualified === qualified && s.kind === kind);
  return has(result.symbols) && !has(base.symbols);
};
/** As a word of its own. */
const mentions = (text: string, name: string): boolean => {
  for (let at = text.indexOf(name); at >= 0 && name !== ''; at = text.indexOf(name, at + 1))
    if (
      !/[\p{L}\p{N}_$]/u.test(text[at - 1] ?? ' ') &&
      !/[\p{L}\p{N}_$]/u.test(text[at + name.length] ?? ' ')
    )
      return true;
  return false;
};

/** Definitions with the same header, in the same place, more often than before: an edit that kept the old one beside the new. */
export const doubledSymbols = ({ path, base, result }: TreeView): Finding[] => {
  const headers = ({ symbols }: OutlineRead) => tally(symbols.map(({ header }) => header));
  const [before, after] = [headers(base), headers(result)];
  const findings: Finding[] = [];
  const seen = new Map<string, SymbolPlace>();
  for (const symbol of result.symbols) {
    if (!KEPT.has(symbol.kind) || symbol.kind === 'namespace') continue;
    const first = seen.get(symbol.header);
    if (first === undefined) seen.set(symbol.header, symbol);
    else if (
      (after.get(symbol.header) ?? 0) > (before.get(symbol.header) ?? 0) &&
      findings.length < SYNTAX_FINDINGS
    ) {
      const message = `${symbol.qualified} is defined twice with the same signature in the new ${path}: lines ${first.from + 1} and ${symbol.from + 1}.`;
      findings.push({
        guard: 'doubled_block',
        severity: 'ask',
        path,
        lines: [symbol.from + 1, symbol.to],
        message,
      });
    }
  }
  return findings;
};
