/** Makes plain JavaScript of TypeScript modules and all that they import, so that a test can run them in a process of its own. */
import * as fs from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { transformSync } from '@swc/core';

const root = resolve(import.meta.dirname, '../..');

/**
 * Transpiles the entry (relative to the repository) into `.emend-test/<name>-<pid>/`, where packages still resolve. Returns the
 * entry's path there and a function that removes it all.
 */
export const transpile = (
  name: string,
  entry: string,
): { readonly path: string; readonly remove: () => void } => {
  const out = join(root, '.emend-test', `${name}-${process.pid}`);
  const done = new Set<string>();
  const visit = (source: string): void => {
    if (done.has(source)) return;
    done.add(source);
    const { code } = transformSync(fs.readFileSync(source, 'utf8'), {
      filename: source,
      swcrc: false,
      jsc: { target: 'es2022', parser: { syntax: 'typescript' } },
      module: { type: 'es6' },
    });
    const to = join(out, relative(root, source)).replace(/\.ts$/, '.js');
    fs.mkdirSync(dirname(to), { recursive: true });
    fs.writeFileSync(to, code);
    for (const [, specifier] of code.matchAll(/(?:from\s+|import\()["'](\.[^"']+)\.js["']/g))
      visit(resolve(dirname(source), `${specifier ?? ''}.ts`));
  };
  visit(join(root, entry));
  // As in a build: readers of records go by it.
  fs.copyFileSync(join(root, 'docs/reference/archive.json'), join(out, 'archive.json'));
  return {
    path: join(out, entry).replace(/\.ts$/, '.js'),
    remove: () => {
      fs.rmSync(out, { recursive: true, force: true });
    },
  };
};
