/** Which files of a workspace a line imports, in the ways that languages write it: by path, by dots, by `::`, by folder. Pure. */
import { posix } from 'node:path';

/** Of these languages a folder's files are one module: they need no import. */
const BY_FOLDER = /[.](?:go|java|cs|kt|scala|swift)$/;
const FAMILIES = [
  /[.](?:[cm]?[jt]sx?|vue|svelte)$/,
  /[.](?:[chm]|cc|cpp|cxx|hh|hpp|hxx|mm)$/,
  /[.]pyi?$/,
];

const withoutEnd = (path: string): string => path.replace(/([^/])[.][^./]*$/, '$1');
export const folderOf = (path: string): string => posix.dirname(`/${path}`).slice(1);
/** Files of one family import each other. */
export const areFamily = (a: string, b: string): boolean =>
  posix.extname(a) === posix.extname(b) ||
  FAMILIES.some((family) => family.test(a) && family.test(b));
/** It stands for its folder. */
export const isDoor = (path: string): boolean =>
  /(?:^|\/)(?:index(?:[.]\w+)?|(?:mod|lib|main)[.]rs|__init__[.]pyi?)$/.test(path);
const moduleOf = (path: string): string => (isDoor(path) ? folderOf(path) : withoutEnd(path));
/** Parts of a path that another one has too. */
export const nearness = (a: string, b: string): number => {
  const parts = new Set(b.split('/'));
  return a.split('/').filter((part) => parts.has(part)).length;
};

/** A module as it is written; `from`: the folder that it is written from, null: from wherever modules are looked for. */
type Spec = readonly [parts: readonly string[], from: string | null];

const PYTHON = /^\s*from\s+([.]*)([\w.]*)\s+import\s+(.*)/;
const KEYWORDS =
  /^\s*(?:pub(?:\([^)]*\))?\s+)?(?:import|use|using|mod|from)\s+(?:static\s+|type\s+)?/;
const namesIn = (list: string): readonly string[] =>
  list.split(/[,{}();]+/).map((name) => name.trim().replace(/\s.*/, ''));

function specsOf(line: string, folder: string): readonly Spec[] {
  const quoted = [...line.matchAll(/['"<]([^\s'"<>]+)['">]/g)];
  if (quoted.length > 0)
    return quoted.flatMap(([, text = '']): readonly Spec[] => {
      const parts = text.replace(/^[@~]\//, '').split('/');
      if (text.startsWith('.')) return [[parts, folder]];
      // What stands in front may be the package's own name; a bare name is an installed package.
      return parts.length > 1 || line.includes('#include')
        ? parts.map((_, at) => [parts.slice(at), null])
        : [];
    });
  const [, dots = '', base = '', items = null] = PYTHON.exec(line) ?? [];
  if (items !== null) {
    const from =
      dots === '' ? null : posix.join('/', folder, '../'.repeat(dots.length - 1)).slice(1);
    const parts = base.split('.').filter((part) => part !== '');
    return [...namesIn(items).map((name): Spec => [[...parts, name], from]), [parts, from]];
  }
  const [head = '', ...inner] = line.replace(KEYWORDS, '').split('{');
  const names =
    inner.length === 0 ? namesIn(head) : namesIn(inner.join('{')).map((name) => head.trim() + name);
  return names.flatMap((name): readonly Spec[] => {
    const parts = name.split(/[.:]+/).filter((part) => /^(?!(?:crate|self|super)$)\w+$/.test(part));
    // The last one may be something that the module defines.
    return [parts, ...(parts.length > 1 ? [parts.slice(0, -1)] : [])].map((each) => [each, null]);
  });
}

/** Of a workspace: the files that lines of `path` import, the nearest where several could be meant, and those that it needs not import. */
export function importsIn(files: readonly string[]) {
  const byName = new Map<string, (readonly [path: string, module: string])[]>();
  for (const path of files)
    for (const module of BY_FOLDER.test(path)
      ? [moduleOf(path), folderOf(path)]
      : [moduleOf(path)]) {
      const held = byName.get(posix.basename(module)) ?? [];
      byName.set(posix.basename(module), held);
      held.push([path, module]);
    }
  const find = (wanted: string, anywhere: boolean, path: string): readonly string[] => {
    const own = moduleOf(path);
    // One name alone says little: it stands beside the file, or above it.
    const isAbove = (module: string) =>
      `${own}/`.startsWith(module.slice(0, module.length - wanted.length));
    const isMeant = (module: string) =>
      module === wanted ||
      (anywhere && module.endsWith(`/${wanted}`) && (wanted.includes('/') || isAbove(module)));
    const named = wanted === '' && anywhere ? [] : (byName.get(posix.basename(wanted)) ?? []);
    const found = named.filter(([other, module]) => areFamily(other, path) && isMeant(module));
    const nearest = Math.max(0, ...found.map(([, module]) => nearness(module, own)));
    return found.filter(([, module]) => nearness(module, own) === nearest).map(([other]) => other);
  };
  return (lines: readonly string[], path: string): readonly string[] => {
    const specs = lines.flatMap((line) => specsOf(line, folderOf(path)));
    const found = specs.flatMap(([parts, from]) => {
      const written =
        from === null ? parts.join('/') : posix.join('/', from, ...parts).replace(/^\/|\/$/g, '');
      return [written, moduleOf(written)].flatMap((module) => find(module, from === null, path));
    });
    const beside = BY_FOLDER.test(path) ? find(folderOf(path), false, path) : [];
    return [...new Set([...found, ...beside])].filter((other) => other !== path);
  };
}
