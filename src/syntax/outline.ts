/**
 * Finds the definitions and faults in a syntax tree. Functions are not entered: definitions inside them are visible only there. Depth and number
 * are bounded (`SYNTAX_DEPTH`, `SYNTAX_SYMBOLS`, `SYNTAX_FAULTS`).
 */
import type { Node, Tree } from 'web-tree-sitter';
import type { SymbolKind, Outline, SymbolPlace, SyntaxFault } from '../edits/index.js';
import type { LanguageRow } from './languages.js';

const SYMBOL_HEADER_CHARS = 500; // bound: Characters of a symbol's text that are kept to distinguish it from others.
const SYNTAX_SYMBOLS = 50_000; // bound: Definitions of one file.
const SYNTAX_FAULTS = 100; // bound: Syntax errors of one file.
export const SYNTAX_DEPTH = 64; // bound: Definitions within definitions.

/** Returns the names that a node defines (Go's `var a, b int` defines two); none: a pattern, or something without a name. */
const namesOf = (node: Node): readonly string[] => {
  const special = SPECIAL[node.type];
  if (special !== undefined) return present(special(node));
  const names = node.childrenForFieldName('name');
  if (names.length === 0)
    return NAMELESS.has(node.type) ? ['default'] : present(firstIdentifier(node));
  return names
    .filter((name) => !name.type.endsWith('_pattern'))
    .map(({ text }) => fold(text.replace(/^(['"])(.*)\1$/, '$2')));
};

/** Returns the scope of a definition's name in addition to that of the node around it: a Go method's receiver. */
const receiverOf = (node: Node): string | null => {
  const receiver = node.type === 'method_declaration' ? node.childForFieldName('receiver') : null;
  return receiver === null
    ? null
    : (receiver.descendantsOfType('type_identifier')[0]?.text ?? null);
};

/** Returns the name that qualifies members: for `impl Display for S<T>` it is `S`. */
const scopeName = (node: Node, name: string): string => {
  if (node.type !== 'impl_item') return name;
  const type = node.childForFieldName('type');
  return fold((type?.childForFieldName('type') ?? type)?.text ?? name);
};

const FUNCTIONS = new Set([
  'arrow_function',
  'function_expression',
  'generator_function',
  'lambda',
]);
const CLASSES = new Set(['class', 'class_expression']);

/** Returns the node whose body counts: for `const f = () => { … }` it is the function. */
const bodyHolder = (node: Node): Node => {
  const value = node.childForFieldName('value');
  return value !== null && (FUNCTIONS.has(value.type) || CLASSES.has(value.type)) ? value : node;
};

const kindOf = (node: Node, kind: SymbolKind, inClass: boolean): SymbolKind => {
  const value = bodyHolder(node);
  if (value !== node && CLASSES.has(value.type)) return 'class';
  const plain = value !== node ? 'function' : kind;
  if (!inClass) return plain;
  if (plain === 'function') return 'method';
  return plain === 'variable' ? 'field' : plain;
};

const NAMELESS: ReadonlySet<string> = new Set(['function_expression', 'class']);
const SPECIAL: Readonly<Record<string, (node: Node) => string | null>> = {
  impl_item: (node) => {
    const [trait, type] = [node.childForFieldName('trait'), node.childForFieldName('type')];
    return `impl ${trait === null ? '' : `${fold(trait.text)} for `}${fold(type?.text ?? '')}`;
  },
  assignment: (node) => {
    const target = node.childForFieldName('left');
    return target?.type === 'identifier' ? target.text : null;
  },
  destructor_declaration: (node) => `~${node.childForFieldName('name')?.text ?? ''}`,
  operator_declaration: (node) => `operator ${node.childForFieldName('operator')?.text ?? ''}`,
  conversion_operator_declaration: (node) =>
    `operator ${node.childForFieldName('type')?.text ?? ''}`,
  indexer_declaration: () => 'this[]',
  // JavaScript's grammar calls the name of a field its property.
  field_definition: (node) => node.childForFieldName('property')?.text ?? null,
};

const present = (name: string | null): readonly string[] => (name === null ? [] : [name]);
const firstIdentifier = (node: Node): string | null =>
  node.namedChildren.find((child) => child.type === 'identifier')?.text ?? null;
const fold = (text: string): string => text.replace(/\s+/g, ' ').trim();

export const readTree = (row: LanguageRow, tree: Tree, lines: readonly string[]): Outline => {
  const walk = new Walk(row, lines);
  walk.visit(tree.rootNode, { qualified: '', header: '', holds: null, depth: 0 });
  if (walk.full)
    return {
      kind: 'unread',
      code: 'syntax_too_large',
      why: `The file has more than ${SYNTAX_SYMBOLS} definitions, or they are nested more than ${SYNTAX_DEPTH} deep.`,
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
  /** Kind of the definition around those of this scope; null at the top. */
  readonly holds: SymbolKind | null;
  readonly depth: number;
}
/** Extent of a definition in the text, with everything that belongs to it. */
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
    if (scope.depth > SYNTAX_DEPTH) this.full = true;
    if (this.full) return;
    const children = named(node);
    for (const [index, child] of children.entries()) {
      if (this.#leads(child)) this.#enter(child, this.#extent(child, children, index), scope);
    }
  }

  #leads({ type }: Node): boolean {
    const { defines, wraps, through } = this.#row;
    return Object.hasOwn(defines, type) || wraps.includes(type) || through.includes(type);
  }

  #enter(node: Node, extent: Extent, scope: Scope): void {
    const kind = Object.hasOwn(this.#row.defines, node.type)
      ? this.#row.defines[node.type]
      : undefined;
    if (kind !== undefined) this.#define(node, kind, extent, scope);
    else if (this.#row.wraps.includes(node.type)) {
      const inner = named(node).filter((child) => this.#leads(child));
      for (const child of inner)
        this.#enter(
          child,
          inner.length === 1
            ? extent
            : { first: child, last: child, lead: child.startPosition.row },
          scope,
        );
    } else this.visit(node, { ...scope, depth: scope.depth + 1 });
  }

  #define(node: Node, kind: SymbolKind, extent: Extent, scope: Scope): void {
    const holder = bodyHolder(node);
    const body = holder.childForFieldName('body') ?? interfaceBody(node);
    const real = kindOf(node, kind, scope.holds === 'class' || scope.holds === 'interface');
    const signature = this.#text(extent.first, body ?? extent.last, body === null);
    const header = `${scope.header}${signature} / `;
    for (const name of namesOf(node)) {
      if (this.symbols.length >= SYNTAX_SYMBOLS) this.full = true;
      const receiver = receiverOf(node);
      const qualified = [scope.qualified, receiver, name]
        .filter((part) => part !== null && part !== '')
        .join('.');
      this.symbols.push({
        qualified,
        kind: real,
        ...this.#place(extent, body),
        header: body === null ? `${header}${qualified}` : header,
        signature,
      });
      if (body !== null && HOLDERS.has(real)) {
        const inner = [scope.qualified, scopeName(node, name)]
          .filter((part) => part !== '')
          .join('.');
        this.visit(body, { qualified: inner, header, holds: real, depth: scope.depth + 1 });
      }
    }
  }

  #place({ first, last, lead }: Extent, body: Node | null) {
    const from = first.startPosition.row;
    const to = endRow(last) + 1;
    const before = (this.#lines[from] ?? '').slice(0, first.startPosition.column);
    const after =
      endRow(last) === last.endPosition.row
        ? (this.#lines[to - 1] ?? '').slice(last.endPosition.column)
        : '';
    return {
      from,
      to,
      lead: Math.min(lead, from),
      bodyEnd: body === null ? null : this.#bodyEnd(body, to),
      shares: before.trim() !== '' || !/^[;,]?\s*((\/\/|#).*|\/\*[^*]*\*\/)?$/.test(after.trim()),
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

  /** Returns the extent of the child at `index` with its attributes, and the first line of the comment directly above. */
  #extent(node: Node, children: readonly Node[], index: number): Extent {
    let first = node;
    let lead = node.startPosition.row;
    for (let above = index - 1; above >= 0; above -= 1) {
      const child = children[above];
      if (child === undefined) break;
      const attribute = this.#row.attributes.includes(child.type);
      const comment =
        child.type.includes('comment') && endRow(child) === lead - 1 && this.#ownLine(child);
      if (!attribute && !comment) break;
      if (attribute) first = child;
      lead = child.startPosition.row;
    }
    return { first, last: node, lead };
  }

  #ownLine({ startPosition: { row, column } }: Node): boolean {
    return (this.#lines[row] ?? '').slice(0, column).trim() === '';
  }

  /** Returns the text from one node's start to the start of another, or to its own end, with folded white space and cut. */
  #text(from: Node, until: Node, whole: boolean): string {
    const end = whole ? until.endPosition : until.startPosition;
    const parts: string[] = [];
    let chars = 0;
    for (
      let row = from.startPosition.row;
      row <= end.row && chars < SYMBOL_HEADER_CHARS;
      row += 1
    ) {
      const line = this.#lines[row] ?? '';
      const part = line.slice(
        row === from.startPosition.row ? from.startPosition.column : 0,
        row === end.row ? end.column : undefined,
      );
      parts.push(part);
      chars += part.length;
    }
    return fold(parts.join(' ')).slice(0, SYMBOL_HEADER_CHARS);
  }
}

const named = (node: Node): Node[] => node.namedChildren;

/** Returns the node with the members: in Go the methods of an interface are in its type. */
const interfaceBody = (node: Node): Node | null => {
  const type = node.type === 'type_spec' ? node.childForFieldName('type') : null;
  return type?.type === 'interface_type' || type?.type === 'struct_type' ? type : null;
};

/** Returns the last row of a node. Rust's doc comments end at the start of the next line. */
const endRow = ({ startPosition, endPosition }: Node): number =>
  endPosition.column === 0 && endPosition.row > startPosition.row
    ? endPosition.row - 1
    : endPosition.row;

/** Collects the syntax errors below a node. It enters only nodes with `hasError`. */
const faultsOf = (tree: Tree): SyntaxFault[] => {
  const faults: SyntaxFault[] = [];
  const open: Node[] = [tree.rootNode];
  for (
    let node = open.pop();
    node !== undefined && faults.length < SYNTAX_FAULTS;
    node = open.pop()
  ) {
    const inner = node.children.filter(
      (child) => child.isError || child.isMissing || child.hasError,
    );
    if (node.isMissing)
      faults.push({
        from: node.startPosition.row,
        to: node.startPosition.row,
        missing: JSON.stringify(node.type),
      });
    // The missing node may be of a kind that trees do not show. Then only the node around it can be named.
    else if (inner.length === 0)
      faults.push({ from: node.startPosition.row, to: endRow(node), missing: null });
    else open.push(...inner.reverse());
  }
  return faults;
};
