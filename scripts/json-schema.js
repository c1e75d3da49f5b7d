/**
 * Generates docs/reference/json.schema.json from the types of src/cli/json-types.ts, as TypeScript resolves them: what `--json` prints, by
 * command; and docs/reference/archive.json, what a run's archive and the records of a home hold. `--check` writes nothing and ends with 1 where a file is not what the types say.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { format } from 'oxfmt';
import ts from 'typescript';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const SOURCE = join(root, 'src', 'cli', 'json-types.ts');
const TARGET = join(root, 'docs', 'reference', 'json.schema.json');
/** The kinds of what a run's archive holds; `record`: of what is read as `…<Type>(…, 'Type')`. */
const ARCHIVE = join(root, 'docs', 'reference', 'archive.json');
/** Files that read records. */
const RECORDS = ts.sys
  .readDirectory(join(root, 'src'), ['.ts'])
  .filter((path) => /<(\w+)>\([^;]*'\1'/.test(ts.sys.readFile(path)));

const programOf = () => {
  const path = join(root, 'tsconfig.build.json');
  const { config } = ts.readConfigFile(path, ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root);
  // Nothing that is printed is made of Node's types.
  options.types = [];
  const host = ts.createCompilerHost(options);
  // Of packages, what is printed is made of zod's types alone; to read the others takes most of the time.
  host.resolveModuleNameLiterals = (names, from) =>
    names.map(({ text }) =>
      /^(\.|zod$)/.test(text)
        ? ts.resolveModuleName(text, from, options, host)
        : { resolvedModule: undefined },
    );
  return ts.createProgram([SOURCE, ...RECORDS], { ...options, noEmit: true }, host);
};

/** Name and type of each `…<Type>(…, 'Type')` in a file. */
const readsOf = (node) => {
  const [type] = (ts.isCallExpression(node) && node.typeArguments) || [];
  const kind = node.arguments?.find(
    (each) => ts.isStringLiteral(each) && each.text === type?.getText(),
  );
  const found = kind === undefined ? [] : [[kind.text, type]];
  ts.forEachChild(node, (child) => void found.push(...readsOf(child)));
  return found;
};

const schemaOf = (program) => {
  const checker = program.getTypeChecker();
  const defs = new Map();
  const names = new Map();
  const wordsOf = (symbol) =>
    ts.displayPartsToString(symbol?.getDocumentationComment(checker) ?? []).trim();
  const described = (schema, symbol) => {
    const words = wordsOf(symbol);
    return words === '' ? schema : { ...schema, description: words };
  };

  /** Types that have a name of their own stand once, in `$defs`. */
  const named = (type) => {
    if (names.has(type)) return { $ref: `#/$defs/${names.get(type)}` };
    const symbol = type.aliasSymbol ?? type.symbol;
    const generic =
      (type.aliasTypeArguments ?? (type.isUnion() ? [] : checker.getTypeArguments(type))).length >
      0;
    const body = () => (type.isUnion() ? unionOf(type.types) : objectOf(type));
    const plain =
      symbol !== undefined && !generic && !symbol.name.startsWith('__') && isOurs(symbol);
    if (!plain) return body();
    const taken = new Set(names.values());
    let name = symbol.name;
    for (let n = 2; taken.has(name); n += 1) name = `${symbol.name}${n}`;
    names.set(type, name);
    defs.set(name, {});
    defs.set(name, described(body(), symbol));
    return { $ref: `#/$defs/${name}` };
  };
  const isOurs = (symbol) =>
    (symbol.declarations ?? []).some((each) =>
      each.getSourceFile().fileName.startsWith(join(root, 'src')),
    );

  const objectOf = (type) => {
    const properties = {};
    const required = [];
    for (const property of checker.getPropertiesOfType(type)) {
      const optional = (property.flags & ts.SymbolFlags.Optional) !== 0;
      const own = checker.getTypeOfSymbol(property);
      // What may be undefined is left out when it is written down.
      properties[property.name] = described(
        convert(optional ? withoutUndefined(own) : own),
        property,
      );
      if (!optional) required.push(property.name);
    }
    const index = checker.getIndexInfoOfType(type, ts.IndexKind.String);
    return {
      type: 'object',
      ...(Object.keys(properties).length === 0 ? {} : { properties }),
      ...(required.length === 0 ? {} : { required: required.sort() }),
      ...(index === undefined ? {} : { additionalProperties: convert(index.type) }),
    };
  };
  const withoutUndefined = (type) =>
    type.isUnion() && type.types.some((each) => each.flags & ts.TypeFlags.Undefined)
      ? { union: type.types.filter((each) => !(each.flags & ts.TypeFlags.Undefined)) }
      : type;

  const unionOf = (types) => {
    const parts = types.filter((each) => !(each.flags & ts.TypeFlags.Undefined));
    const literals = parts.filter(
      (each) => each.isLiteral() || each.flags & (ts.TypeFlags.BooleanLiteral | ts.TypeFlags.Null),
    );
    const others = parts.filter((each) => !literals.includes(each));
    const values = literals.map((each) =>
      each.isLiteral()
        ? each.value
        : each.flags & ts.TypeFlags.Null
          ? null
          : checker.typeToString(each) === 'true',
    );
    const bool = values.includes(true) && values.includes(false);
    const rest = values.filter((value) => value !== null && !(bool && typeof value === 'boolean'));
    const schemas = [
      ...(bool ? [{ type: 'boolean' }] : []),
      ...(rest.length === 0
        ? []
        : [
            rest.length === 1
              ? { const: rest[0] }
              : { enum: rest.sort((a, b) => (a < b ? -1 : 1)) },
          ]),
      ...others.map(convert),
      ...(values.includes(null) ? [{ type: 'null' }] : []),
    ];
    return schemas.length === 1 ? schemas[0] : { anyOf: schemas };
  };

  const convert = (type) => {
    if (type.union !== undefined) return unionOf(type.union);
    const { flags } = type;
    if (flags & (ts.TypeFlags.Any | ts.TypeFlags.Unknown)) return {};
    if (type.isUnion())
      return type.aliasSymbol === undefined || type.types.length < 8
        ? unionOf(type.types)
        : named(type);
    if (type.isLiteral() || flags & (ts.TypeFlags.BooleanLiteral | ts.TypeFlags.Null))
      return unionOf([type]);
    if (flags & (ts.TypeFlags.String | ts.TypeFlags.TemplateLiteral)) return { type: 'string' };
    if (flags & ts.TypeFlags.Number) return { type: 'number' };
    if (checker.isTupleType(type)) {
      const items = checker.getTypeArguments(type).map(convert);
      return { type: 'array', prefixItems: items, minItems: items.length, maxItems: items.length };
    }
    if (checker.isArrayType(type))
      return { type: 'array', items: convert(checker.getTypeArguments(type)[0]) };
    // A string or number with a brand: the brand is for the compiler alone.
    if (type.isIntersection()) {
      const base = type.types.find(
        (each) => each.flags & (ts.TypeFlags.String | ts.TypeFlags.Number),
      );
      return base === undefined ? objectOf(type) : convert(base);
    }
    if (flags & ts.TypeFlags.Object) return named(type);
    throw new Error(`no schema for ${checker.typeToString(type)}`);
  };

  const file = program.getSourceFile(SOURCE);
  const outputs = checker
    .getExportsOfModule(checker.getSymbolAtLocation(file))
    .find(({ name }) => name === 'JsonOutputs');
  const commands = checker.getPropertiesOfType(checker.getDeclaredTypeOfSymbol(outputs));
  const properties = Object.fromEntries(
    commands.map((command) => [
      command.name,
      described(convert(checker.getTypeOfSymbol(command)), command),
    ]),
  );
  /**
   * As src/system/version.ts reads it: names of types, lists for one of several, fields. Words are of any kind of text, but in records: what
   * is done by those must be known.
   */
  const kindOf = (schema, words = false) => {
    if (schema.$ref !== undefined)
      return kindOf(defs.get(schema.$ref.replace('#/$defs/', '')), words);
    if (schema.anyOf !== undefined) return schema.anyOf.map((each) => kindOf(each, words));
    if (schema.const !== undefined || schema.enum !== undefined)
      return words
        ? { '=': schema.enum ?? [schema.const] }
        : typeof (schema.const ?? schema.enum[0]);
    if (schema.type === 'array')
      return { '[]': schema.prefixItems === undefined ? kindOf(schema.items, words) : 'any' };
    if (schema.type !== 'object') return schema.type ?? 'any';
    const required = new Set(schema.required);
    const fields = Object.entries(schema.properties ?? {}).map(([name, each]) => [
      required.has(name) ? name : `${name}?`,
      kindOf(each, words),
    ]);
    const others =
      schema.additionalProperties === undefined
        ? {}
        : { '*': kindOf(schema.additionalProperties, words) };
    return { ...Object.fromEntries(fields), ...others };
  };
  const before = new Set(defs.keys());
  const reader = program.getSourceFile(join(root, 'src', 'client', 'archive', 'run.ts'));
  const parts = checker.getTypeAtLocation(
    reader.statements.find(({ name }) => name?.text === 'ArchiveParts'),
  );
  const archive = kindOf(convert(parts));
  archive.event = Object.fromEntries(
    defs.get('StepEvent').anyOf.map((each) => [each.properties.type.const, kindOf(each)]),
  );
  archive.record = Object.fromEntries(
    RECORDS.flatMap((path) => readsOf(program.getSourceFile(path)))
      .map(([name, type]) => [name, kindOf(convert(checker.getTypeFromTypeNode(type)), true)])
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  );
  for (const name of [...defs.keys()].filter((each) => !before.has(each))) defs.delete(name);
  const schema = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'What `emend COMMAND --json` prints, by command',
    description:
      'Generated by scripts/json-schema.js. Fields may be added; none goes away or changes its meaning without another `v`.',
    type: 'object',
    properties,
    $defs: Object.fromEntries([...defs].sort(([a], [b]) => (a < b ? -1 : 1))),
  };
  return { schema, archive };
};

const style = JSON.parse(await readFile(join(root, '.oxfmtrc.json'), 'utf8'));
const { schema, archive } = schemaOf(programOf());
for (const [target, value] of [
  [TARGET, schema],
  [ARCHIVE, archive],
]) {
  const { code: text } = await format(target, JSON.stringify(value), style);
  if (!process.argv.includes('--check')) {
    await mkdir(dirname(target), { recursive: true });
    await writeFile(target, text);
  } else if (text !== (await readFile(target, 'utf8').catch(() => ''))) {
    console.error(`${target} is not what the types of src say: node scripts/json-schema.js`);
    process.exit(1);
  }
}
