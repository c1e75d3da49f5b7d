/**
 * Reads definitions and faults off a syntax tree. Functions are not entered: what they define inside is theirs alone. Depth and number
 * are bounded (`syntaxDepth`, `syntaxSymbols`, `syntaxFaults`).
 */
import type { Node, Tree } from 'web-tree-sitter';
import type { Outline, SymbolKind, SymbolPlace, SyntaxFault } from '../edits/syntax.js';
import { BOUNDS } from '../shared/limits.js';
import type { LanguageRow } from './languages.js';
import { bodyHolder, fold, kindOf, namesOf, receiverOf, scopeName } from './names.js';
import { SHOWN_BOUNDS } from '../shared/bounds.js';

export const readTree = (row: LanguageRow, tree: Tree, lines: readonly string[]): Outline => {
  const walk = new Walk(row, lines);
  walk.visit(tree.rootNode, { qualified: '', header: '', holds: null, depth: 0 });
  if (walk.full)
    return {
      kind: 'unread',
      code: 'syntax_too_large',
      why: `The file has more than ${BOUNDS.syntaxSymbols} definitions, or they are nested more than ${BOUNDS.syntaxDepth} deep.`,
    };
  return {
    kind: 'read',
    language: row.name,
    symbols: walk.symbols,
    faults: tree.rootNode.hasError ? faultsOf(tree) : [],
  };
};

interface Scope {
  readonly qualified: string;
  readonly header: string;
  /** The kind of what holds the definitions here; null at the top. */
  readonly holds: SymbolKind | null;
  readonly depth: number;
}
/** First and last place of a definition as it is written, with all that belongs to it. */
interface Extent {
  readonly first: Node;
  readonly last: Node;
  readonly lead: number;
}

const HOLDERS: ReadonlySet<SymbolKind> = new Set(['class', 'interface', 'type', 'namespace']);

class Walk {
  readonly symbols: SymbolPlace[] = [];
  full = false;
  readonly #row: LanguageRow;
  readonly #lines: readonly string[];

  constructor(row: LanguageRow, lines: readonly string[]) {
    this.#row = row;
    this.#lines = lines;
  }

  visit(node: Node, scope: Scope): void {
    if (scope.depth > BOUNDS.syntaxDepth) this.full = true;
    if (this.full) return;
    const children = named(node);
    for (const [at, child] of children.entries()) {
      if (this.#leads(child)) this.#enter(child, this.#extent(child, children, at), scope);
    }
  }

  #leads({ type }: Node): boolean {
    const { defines, wraps, through } = this.#row;
    return Object.hasOwn(defines, type) || wraps.includes(type) || through.includes(type);
  }

  #enter(node: Node, extent: Extent, scope: Scope): void {
    const kind = Object.hasOwn(this.#row.defines, node.type) ? this.#row.defines[node.type] : undefined;
    if (kind !== undefined) this.#define(node, kind, extent, scope);
    else if (this.#row.wraps.includes(node.type)) {
      const inner = named(node).filter((child) => this.#leads(child));
      for (const child of inner)
        this.#enter(
          child,
          inner.length === 1 ? extent : { first: child, last: child, lead: child.startPosition.row },
          scope,
        );
    } else this.visit(node, { ...scope, depth: scope.depth + 1 });
  }

  #define(node: Node, kind: SymbolKind, extent: Extent, scope: Scope): void {
    const holder = bodyHolder(node);
    const body = holder.childForFieldName('body') ?? interfaceBody(node);
    const real = kindOf(node, kind, scope.holds === 'class' || scope.holds === 'interface');
    const header = `${scope.header}${this.#text(extent.first, body ?? extent.last, body === null)} / `;
    for (const name of namesOf(node)) {
      if (this.symbols.length >= BOUNDS.syntaxSymbols) this.full = true;
      const receiver = receiverOf(node);
      const qualified = [scope.qualified, receiver, name].filter((part) => part !== null && part !== '').join('.');
      this.symbols.push({
        qualified,
        kind: real,
        ...this.#place(extent, body),
        header: body === null ? `${header}${qualified}` : header,
      });
      if (body !== null && HOLDERS.has(real)) {
        const inner = [scope.qualified, scopeName(node, name)].filter((part) => part !== '').join('.');
        this.visit(body, { qualified: inner, header, holds: real, depth: scope.depth + 1 });
      }
    }
  }

  #place({ first, last, lead }: Extent, body: Node | null): Omit<SymbolPlace, 'qualified' | 'kind' | 'header'> {
    const from = first.startPosition.row;
    const to = endRow(last) + 1;
    const before = (this.#lines[from] ?? '').slice(0, first.startPosition.column);
    const after =
      endRow(last) === last.endPosition.row ? (this.#lines[to - 1] ?? '').slice(last.endPosition.column) : '';
    return {
      from,
      to,
      lead: Math.min(lead, from),
      bodyEnd: body === null ? null : this.#bodyEnd(body, to),
      shares: before.trim() !== '' || !/^\s*[;,]?\s*((\/\/|#).*|\/\*[^*]*\*\/\s*)?$/.test(after),
      broken: first.hasError || last.hasError,
    };
  }

  #bodyEnd(body: Node, to: number): number | null {
    const { row, column } = body.endPosition;
    const closing = (this.#lines[row] ?? '').slice(0, column);
    // A block that ends by indentation has no closing line; an expression has no entries.
    if (!closing.endsWith('}')) return body.type === 'block' ? to : null;
    return row > body.startPosition.row && closing.trim().length === 1 ? row : null;
  }

  /** The definition at `at` with its attributes, and where the comment directly above begins. */
  #extent(node: Node, children: readonly Node[], at: number): Extent {
    let first = node;
    let lead = node.startPosition.row;
    for (let above = at - 1; above >= 0; above -= 1) {
      const child = children[above];
      if (child === undefined) break;
      const attribute = this.#row.attributes.includes(child.type);
      const comment = child.type.includes('comment') && endRow(child) === lead - 1 && this.#ownLine(child);
      if (!attribute && !comment) break;
      if (attribute) first = child;
      lead = child.startPosition.row;
    }
    return { first, last: node, lead };
  }

  #ownLine({ startPosition: { row, column } }: Node): boolean {
    return (this.#lines[row] ?? '').slice(0, column).trim() === '';
  }

  /** From one node's start to another's start, or its end; folded and cut. */
  #text(from: Node, until: Node, whole: boolean): string {
    const end = whole ? until.endPosition : until.startPosition;
    const parts: string[] = [];
    let chars = 0;
    for (let row = from.startPosition.row; row <= end.row && chars < SHOWN_BOUNDS.symbolHeader_chars; row += 1) {
      const line = this.#lines[row] ?? '';
      const part = line.slice(
        row === from.startPosition.row ? from.startPosition.column : 0,
        row === end.row ? end.column : undefined,
      );
      parts.push(part);
      chars += part.length;
    }
    return fold(parts.join(' ')).slice(0, SHOWN_BOUNDS.symbolHeader_chars);
  }
}

const named = (node: Node): Node[] => node.namedChildren;

/** Go says an interface's methods in its type. */
const interfaceBody = (node: Node): Node | null => {
  const type = node.type === 'type_spec' ? node.childForFieldName('type') : null;
  return type?.type === 'interface_type' || type?.type === 'struct_type' ? type : null;
};

/** Rust's doc comments end at the start of the next line. */
const endRow = ({ startPosition, endPosition }: Node): number =>
  endPosition.column === 0 && endPosition.row > startPosition.row ? endPosition.row - 1 : endPosition.row;

/** Goes only where `hasError` leads. */
const faultsOf = (tree: Tree): SyntaxFault[] => {
  const faults: SyntaxFault[] = [];
  const open: Node[] = [tree.rootNode];
  for (let node = open.pop(); node !== undefined && faults.length < BOUNDS.syntaxFaults; node = open.pop()) {
    const inner = node.children.filter((child) => child.isError || child.isMissing || child.hasError);
    if (node.isMissing)
      faults.push({ from: node.startPosition.row, to: node.startPosition.row, missing: JSON.stringify(node.type) });
    // What is missing may be of a kind that trees do not show: then the node round it is all that can be named.
    else if (inner.length === 0) faults.push({ from: node.startPosition.row, to: endRow(node), missing: null });
    else open.push(...inner.reverse());
  }
  return faults;
};
