/**
 * Lists the languages whose definitions Emend finds, as data. To add one, add a row here (its grammar must be in `@vscode/tree-sitter-wasm`), a
 * file with its definitions in test/syntax/languages.test.ts, and its name in docs/formats.md.
 */
import type { SymbolKind } from '../edits/index.js';

export interface LanguageRow {
  /** Name of the language as its users write it. */
  readonly name: string;
  /** Name of the grammar, as in `tree-sitter-<grammar>.wasm`. */
  readonly grammar: string;
  readonly endings: readonly string[];
  /** Node types that define a name, with the kind of the definition. */
  readonly defines: Readonly<Record<string, SymbolKind>>;
  /** Node types around exactly one definition that belong to it: exports, decorators. */
  readonly wraps: readonly string[];
  /** Node types that may contain definitions and belong to none. */
  readonly through: readonly string[];
  /** Node types before a definition, on lines of their own, that belong to it (Rust's attributes). */
  readonly attributes: readonly string[];
}

const script = {
  defines: {
    class_declaration: 'class',
    abstract_class_declaration: 'class',
    class: 'class',
    interface_declaration: 'interface',
    enum_declaration: 'type',
    type_alias_declaration: 'type',
    function_declaration: 'function',
    generator_function_declaration: 'function',
    function_signature: 'function',
    function_expression: 'function',
    internal_module: 'namespace',
    module: 'namespace',
    method_definition: 'method',
    method_signature: 'method',
    abstract_method_signature: 'method',
    property_signature: 'field',
    public_field_definition: 'field',
    field_definition: 'field',
    variable_declarator: 'variable',
  },
  wraps: [
    'export_statement',
    'ambient_declaration',
    'lexical_declaration',
    'variable_declaration',
    'expression_statement',
  ],
  through: [],
  attributes: ['decorator'],
} as const;

export const LANGUAGES: readonly LanguageRow[] = [
  { name: 'TypeScript', grammar: 'typescript', endings: ['.ts', '.mts', '.cts'], ...script },
  { name: 'TypeScript with JSX', grammar: 'tsx', endings: ['.tsx'], ...script },
  {
    name: 'JavaScript',
    grammar: 'javascript',
    endings: ['.js', '.mjs', '.cjs', '.jsx'],
    ...script,
  },
  {
    name: 'Python',
    grammar: 'python',
    endings: ['.py', '.pyi'],
    defines: { class_definition: 'class', function_definition: 'function', assignment: 'variable' },
    wraps: ['decorated_definition', 'expression_statement'],
    through: [
      'if_statement',
      'elif_clause',
      'else_clause',
      'try_statement',
      'except_clause',
      'finally_clause',
      'with_statement',
      'block',
    ],
    attributes: [],
  },
  {
    name: 'Go',
    grammar: 'go',
    endings: ['.go'],
    defines: {
      function_declaration: 'function',
      method_declaration: 'method',
      type_spec: 'type',
      type_alias: 'type',
      method_elem: 'method',
      const_spec: 'variable',
      var_spec: 'variable',
    },
    wraps: ['type_declaration', 'const_declaration', 'var_declaration'],
    through: ['var_spec_list'],
    attributes: [],
  },
  {
    name: 'Rust',
    grammar: 'rust',
    endings: ['.rs'],
    defines: {
      struct_item: 'class',
      union_item: 'class',
      enum_item: 'type',
      trait_item: 'interface',
      impl_item: 'class',
      mod_item: 'namespace',
      function_item: 'function',
      function_signature_item: 'function',
      const_item: 'variable',
      static_item: 'variable',
      type_item: 'type',
      associated_type: 'type',
      macro_definition: 'function',
    },
    wraps: [],
    through: ['foreign_mod_item', 'declaration_list'],
    attributes: ['attribute_item'],
  },
  {
    name: 'Java',
    grammar: 'java',
    endings: ['.java'],
    defines: {
      class_declaration: 'class',
      interface_declaration: 'interface',
      enum_declaration: 'class',
      record_declaration: 'class',
      annotation_type_declaration: 'interface',
      method_declaration: 'method',
      constructor_declaration: 'method',
      compact_constructor_declaration: 'method',
      annotation_type_element_declaration: 'method',
      variable_declarator: 'field',
      enum_constant: 'field',
    },
    wraps: ['field_declaration', 'constant_declaration'],
    through: ['enum_body_declarations'],
    attributes: [],
  },
  {
    name: 'C#',
    grammar: 'c-sharp',
    endings: ['.cs'],
    defines: {
      namespace_declaration: 'namespace',
      class_declaration: 'class',
      struct_declaration: 'class',
      record_declaration: 'class',
      interface_declaration: 'interface',
      enum_declaration: 'type',
      delegate_declaration: 'type',
      method_declaration: 'method',
      local_function_statement: 'function',
      constructor_declaration: 'method',
      destructor_declaration: 'method',
      operator_declaration: 'method',
      conversion_operator_declaration: 'method',
      indexer_declaration: 'method',
      property_declaration: 'field',
      event_declaration: 'field',
      variable_declarator: 'field',
      enum_member_declaration: 'field',
    },
    wraps: [
      'field_declaration',
      'event_field_declaration',
      'variable_declaration',
      'global_statement',
    ],
    through: ['preproc_if', 'preproc_elif', 'preproc_else', 'preproc_region', 'declaration_list'],
    attributes: [],
  },
];

/** Returns the language of a path by its ending, in upper or lower case; null: it is not known. */
export const languageOf = (path: string): LanguageRow | null => {
  const lower = path.toLowerCase();
  return LANGUAGES.find(({ endings }) => endings.some((ending) => lower.endsWith(ending))) ?? null;
};
