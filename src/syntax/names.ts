/** What a definition is called, and of which kind it is: where a language says it in its own way. */
import type { Node } from 'web-tree-sitter';
import type { SymbolKind } from '../edits/syntax.js';

/** The names that a node defines (Go's `var a, b int` defines two); none: a pattern, or something without a name. */
export const namesOf = (node: Node): readonly string[] => {
  const special = SPECIAL[node.type];
  if (special !== undefined) return present(special(node));
  const names = node.childrenForFieldName('name');
  if (names.length === 0) return NAMELESS.has(node.type) ? ['default'] : present(firstIdentifier(node));
  return names
    .filter((name) => !name.type.endsWith('_pattern'))
    .map(({ text }) => fold(text.replace(/^(['"])(.*)\1$/, '$2')));
};

/** The scope that a definition's name stands in beside that of the node round it: a Go method's receiver. */
export const receiverOf = (node: Node): string | null => {
  const receiver = node.type === 'method_declaration' ? node.childForFieldName('receiver') : null;
  return receiver === null ? null : (receiver.descendantsOfType('type_identifier')[0]?.text ?? null);
};

/** What members are named behind: of `impl Display for S<T>` it is `S`. */
export const scopeName = (node: Node, name: string): string => {
  if (node.type !== 'impl_item') return name;
  const type = node.childForFieldName('type');
  return fold((type?.childForFieldName('type') ?? type)?.text ?? name);
};

const FUNCTIONS = new Set(['arrow_function', 'function_expression', 'generator_function', 'lambda']);
const CLASSES = new Set(['class', 'class_expression']);

/** The node whose body counts: of `const f = () => { … }` that of the function. */
export const bodyHolder = (node: Node): Node => {
  const value = node.childForFieldName('value');
  return value !== null && (FUNCTIONS.has(value.type) || CLASSES.has(value.type)) ? value : node;
};

export const kindOf = (node: Node, kind: SymbolKind, inClass: boolean): SymbolKind => {
  const value = bodyHolder(node);
  if (value !== node && CLASSES.has(value.type)) return 'class';
  const plain = value !== node ? 'function' : kind;
  if (!inClass) return plain;
  return plain === 'function' ? 'method' : plain === 'variable' ? 'field' : plain;
};

const NAMELESS: ReadonlySet<string> = new Set(['function_expression', 'class']);
const SPECIAL: Readonly<Record<string, (node: Node) => string | null>> = {
  impl_item: (node) => {
    const [trait, type] = [node.childForFieldName('trait'), node.childForFieldName('type')];
    return `impl ${trait === null ? '' : `${fold(trait.text)} for `}${fold(type?.text ?? '')}`;
  },
  assignment: (node) => {
    const left = node.childForFieldName('left');
    return left?.type === 'identifier' ? left.text : null;
  },
  destructor_declaration: (node) => `~${node.childForFieldName('name')?.text ?? ''}`,
  operator_declaration: (node) => `operator ${node.childForFieldName('operator')?.text ?? ''}`,
  conversion_operator_declaration: (node) => `operator ${node.childForFieldName('type')?.text ?? ''}`,
  indexer_declaration: () => 'this[]',
  // JavaScript's grammar calls the name of a field its property.
  field_definition: (node) => node.childForFieldName('property')?.text ?? null,
};

const present = (name: string | null): readonly string[] => (name === null ? [] : [name]);
const firstIdentifier = (node: Node): string | null =>
  node.namedChildren.find((child) => child.type === 'identifier')?.text ?? null;
export const fold = (text: string): string => text.replace(/\s+/g, ' ').trim();
