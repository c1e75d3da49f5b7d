/**
 * Places by symbol: `at: {symbol, position, line}`.
 *
 *   symbol    a qualified name, `Class.method` (`::` counts as `.`). The one definition with exactly this name is meant; where there is
 *             none, the one whose name ends in it. Several are refused with all of them, unless `line` lies in exactly one.
 *   replace, delete   the whole lines of the definition, with its decorators, attributes and modifiers. The comment directly above
 *             stays at a replace and goes at a delete.
 *   insert    position `before` (and before the comment directly above), `after`, or `end`: before the closing line of its body.
 *
 * A definition with a syntax error inside, or one that shares a line with other code, is refused: its lines would be a guess.
 */
import type { RangeEdit, SymbolPoint } from '../edit.js';
import type { RangePlace } from '../locate.js';
import { checkAt, firstOf, linesOf } from '../listing.js';
import {
  lastName,
  type OutlineRead,
  type SymbolPlace,
  type Syntax,
  type SyntaxFault,
} from '../syntax-port.js';
import type { LineIndex } from '../text/lines.js';
import type { Fault } from '../types.js';

const fault = (code: string, message: string): Fault => ({ code, message });

const SYMBOL_CANDIDATES = 12; // bound: Symbols of a like name, named in a refusal.

const INSTEAD = 'Quote line numbers with their checks from the listing instead.';

/** Finds the places that name symbols of one file; its syntax tree is read at the first of them. */
export const symbolPlacer = (
  index: LineIndex,
  path: string,
  syntax: Syntax | undefined,
): ((edit: RangeEdit, symbol: SymbolPoint) => RangePlace | Fault) => {
  let outline: ReturnType<Syntax['outline']> | null = null;
  return (edit, symbol) => {
    if (syntax === undefined)
      return fault(
        'symbol_unsupported',
        `Places by symbol (\`at\`) need a syntax tree, which is not available here. ${INSTEAD}`,
      );
    outline ??= syntax.outline(path, index.all);
    if (outline.kind === 'unread')
      return fault(
        outline.code,
        `\`at\` cannot name ${JSON.stringify(symbol.name)}: ${outline.why} ${INSTEAD}`,
      );
    const definition = find(symbol, path, index, outline);
    return 'code' in definition ? definition : place(edit, symbol, path, definition);
  };
};

/** The one definition that is meant, or why there is not exactly one. */
const find = (
  { name, line }: SymbolPoint,
  path: string,
  lines: LineIndex,
  { symbols, faults }: OutlineRead,
): SymbolPlace | Fault => {
  const qualifiedName = name.replaceAll('::', '.');
  const exact = symbols.filter(({ qualified }) => qualified === qualifiedName);
  const named =
    exact.length > 0
      ? exact
      : symbols.filter(({ qualified }) => qualified.endsWith(`.${qualifiedName}`));
  if (line !== null && line.check !== null && checkAt(lines, line.line) !== line.check)
    return fault(
      'check_mismatch',
      `\`at\` quotes ${line.line}${line.check}, but line ${line.line} of ${path} is listed differently. Quote number and check from the listing.`,
    );
  const meant =
    line === null ? named : named.filter(({ lead, to }) => lead < line.line && line.line <= to);
  const [only] = meant;
  if (only === undefined)
    return fault(
      'symbol_missing',
      named.length > 0
        ? `No definition ${JSON.stringify(name)} of ${path} contains line ${line?.line ?? 0}; there is ${listed(named)}.`
        : `${path} has no definition ${JSON.stringify(name)}. ${nearNames(qualifiedName, symbols)} Name one of these, or quote line numbers with their checks.`,
    );
  if (meant.length > 1)
    return fault(
      'symbol_repeated',
      `${path} has ${meant.length} definitions ${JSON.stringify(name)}: ${listed(meant)}. Give the full name, or \`line\` with a line of the one you mean.`,
    );
  const hiding = faults.find((one) => mayHide(one, only, qualifiedName, lines));
  if (only.broken || hiding !== undefined)
    return fault(
      'symbol_unclear',
      `${hiding === undefined ? 'A syntax error' : `The syntax error at ${linesOf(hiding.from, hiding.to + 1)}`} of ${path} makes it unclear where ${only.qualified} starts and ends, or whether it is the only one. ${INSTEAD}`,
    );
  return only;
};

/** An error inside the definition moves its end; one that holds the name may be a second definition. */
const mayHide = (
  { from, to }: SyntaxFault,
  only: SymbolPlace,
  qualifiedName: string,
  lines: LineIndex,
): boolean => {
  if (only.broken) return from < only.to && to >= only.from;
  return lines.range(from, to + 1).some((line) => line.includes(lastName(qualifiedName)));
};

const place = (
  { hint: { type } }: RangeEdit,
  { position }: SymbolPoint,
  path: string,
  symbol: SymbolPlace,
): RangePlace | Fault => {
  const { qualified, from, to, lead, bodyEnd } = symbol;
  const where = `${qualified} (${linesOf(from, to)} of ${path})`;
  if (symbol.shares)
    return fault('symbol_shares_line', `${where} shares a line with other code. ${INSTEAD}`);
  const placeOf = (from: number, to: number): RangePlace => ({ from, to, tolerances: [] });
  if (type === 'replace') return placeOf(from, to);
  if (type === 'delete') return placeOf(lead, to);
  if (position === 'before') return placeOf(lead, lead);
  if (position === 'after') return placeOf(to, to);
  if (bodyEnd !== null) return placeOf(bodyEnd, bodyEnd);
  return fault(
    'symbol_without_body',
    `${where} has no body with a separate closing line, so nothing can be inserted at its end. Replace it.`,
  );
};

const described = ({ qualified, kind, from, to }: SymbolPlace): string =>
  `${qualified} (${kind}, ${linesOf(from, to)})`;
const listed = (symbols: readonly SymbolPlace[]): string =>
  firstOf(symbols.map(described), SYMBOL_CANDIDATES);

/** Definitions whose last name is the same but for capitals, or holds it or is held by it; else the outermost ones. */
const nearNames = (qualifiedName: string, symbols: readonly SymbolPlace[]): string => {
  if (symbols.length === 0) return 'It has no named definitions.';
  const last = (name: string): string => lastName(name).toLowerCase();
  const want = last(qualifiedName);
  const same = symbols.filter(({ qualified }) => last(qualified) === want);
  const near = symbols.filter(
    ({ qualified }) =>
      last(qualified).includes(want) ||
      (last(qualified).length > 2 && want.includes(last(qualified))),
  );
  const outer = symbols.filter(({ qualified }) => !qualified.includes('.'));
  const closest = [same, near].find((some) => some.length > 0);
  return closest === undefined
    ? `It defines ${listed(outer.length > 0 ? outer : symbols)}.`
    : `The nearest it defines: ${listed(closest)}.`;
};
