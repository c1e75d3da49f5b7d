/** The words for which an answer is refused, as the sources of the edit engine have them: read from their syntax trees. */
import { readFileSync } from 'node:fs';
import ts from 'typescript';

const WORD = /^[a-z]+(?:_[a-z]+)*$/;

const texts = (node: ts.Node): string[] => {
  if (ts.isStringLiteralLike(node)) return WORD.test(node.text) ? [node.text] : [];
  if (ts.isConditionalExpression(node)) return [...texts(node.whenTrue), ...texts(node.whenFalse)];
  return [];
};

const walk = (node: ts.Node, visit: (node: ts.Node) => void): void => {
  visit(node);
  node.forEachChild((child) => {
    walk(child, visit);
  });
};

const nameOf = (node: ts.Node): string | null => {
  if (ts.isIdentifier(node) || ts.isPrivateIdentifier(node)) return node.text;
  return ts.isPropertyAccessExpression(node) ? node.name.text : null;
};

/** Functions that take a parameter `code`: their names, and which it is. */
const takers = (files: readonly ts.SourceFile[]): ReadonlyMap<string, number> => {
  const found = new Map<string, number>();
  for (const file of files)
    walk(file, (node) => {
      if (!ts.isFunctionLike(node)) return;
      const at = node.parameters.findIndex(
        ({ name }) => ts.isIdentifier(name) && name.text === 'code',
      );
      if (at === -1) return;
      const named =
        node.name ?? (ts.isVariableDeclaration(node.parent) ? node.parent.name : undefined);
      const name = named === undefined ? null : nameOf(named);
      if (name !== null) found.set(name, at);
    });
  return found;
};

/** Sorted, each once. */
export const reasonCodes = (paths: readonly string[]): readonly string[] => {
  const files = paths.map((path) =>
    ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.ES2022, true),
  );
  const found = new Set<string>();
  const functions = takers(files);
  for (const file of files)
    walk(file, (node) => {
      if (ts.isPropertyAssignment(node) && nameOf(node.name) === 'code')
        for (const text of texts(node.initializer)) found.add(text);
      if (!ts.isCallExpression(node)) return;
      const at = functions.get(nameOf(node.expression) ?? '');
      const given = at === undefined ? undefined : node.arguments[at];
      if (given !== undefined) for (const text of texts(given)) found.add(text);
    });
  return [...found].sort();
};
