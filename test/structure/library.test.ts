/** What the package exports has a docstring: each name of each door, and each method of a class. */
import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import ts from 'typescript';

const { exports } = JSON.parse(readFileSync('package.json', 'utf8')) as {
  exports: Record<string, string | { readonly default: string }>;
};
const doors = Object.entries(exports).flatMap(([name, entry]) =>
  typeof entry === 'string'
    ? []
    : [[name, entry.default.replace('./dist/', '').replace(/\.js$/, '.ts')] as const],
);

/** Of a door: its names without a docstring. */
const undocumented = (program: ts.Program, path: string): readonly string[] => {
  const checker = program.getTypeChecker();
  const told = (symbol: ts.Symbol): boolean =>
    ts.displayPartsToString(symbol.getDocumentationComment(checker)).trim() !== '';
  const door = checker.getSymbolAtLocation(program.getSourceFile(path)!);
  return checker.getExportsOfModule(door!).flatMap((name) => {
    const symbol =
      (name.flags & ts.SymbolFlags.Alias) === 0 ? name : checker.getAliasedSymbol(name);
    const isOwn = (symbol.flags & ts.SymbolFlags.Class) !== 0 && !symbol.name.endsWith('Error');
    const methods = isOwn
      ? [...(symbol.members?.values() ?? []), ...(symbol.exports?.values() ?? [])]
      : [];
    const public_ = methods.filter(
      (member) => /^[a-z]/.test(member.name) && member.name !== 'prototype',
    );
    return [symbol, ...public_]
      .filter((each) => !told(each))
      .map((each) => `${name.name} ${each.name}`);
  });
};

test('every export of the package has a docstring', () => {
  expect(doors.map(([name]) => name)).toEqual([
    '.',
    './edits',
    './syntax',
    './worker',
    './workflows',
  ]);
  const { config } = ts.readConfigFile('tsconfig.build.json', (path) => ts.sys.readFile(path)) as {
    config: unknown;
  };
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, '.');
  // A door of the clients' functions, whose names are for use inside, has some without: this can fail.
  const other = 'src/client/index.ts';
  // Only names and their docstrings are asked about: no library is read.
  Object.assign(options, { types: [], noLib: true });
  const host = ts.createCompilerHost(options);
  // What packages say is not asked about, and takes most of the time.
  host.resolveModuleNameLiterals = (names, from) =>
    names.map(({ text }) =>
      text.startsWith('.')
        ? ts.resolveModuleName(text, from, options, host)
        : { resolvedModule: undefined },
    );
  const program = ts.createProgram([...doors.map(([, path]) => path), other], options, host);
  expect(
    Object.fromEntries(doors.map(([name, path]) => [name, undocumented(program, path)])),
  ).toEqual(Object.fromEntries(doors.map(([name]) => [name, []])));
  expect(undocumented(program, other)).not.toEqual([]);
}, 120_000);
