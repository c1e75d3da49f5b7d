/** The files of a proposal as a tree of folders; a folder that holds nothing but one folder is one with it. Pure. */

export interface TreeRow {
  /** A folder's ends with `/`. */
  readonly path: string;
  readonly name: string;
  /** From 1. */
  readonly depth: number;
  /** Index of the file; null: a folder. */
  readonly file: number | null;
}
/** By name; a number is a file's index. */
type Folder = Map<string, Folder | number>;

/** `closed`: folders whose files are not shown. */
export const treeRows = (
  files: readonly { readonly path: string }[],
  wanted: (path: string) => boolean,
  closed: ReadonlySet<string>,
): readonly TreeRow[] => {
  const root: Folder = new Map();
  files.forEach(({ path }, index) => {
    // `src/`, `web/`, `index.ts`
    const names = wanted(path) ? (path.match(/[^/]*\/|[^/]+$/g) ?? []) : [];
    let folder = root;
    for (const name of names) {
      const at = folder.get(name);
      const inner = typeof at === 'object' ? at : new Map<string, Folder | number>();
      folder.set(name, name.endsWith('/') ? inner : index);
      folder = inner;
    }
  });
  const walk = (folder: Folder, before: string, depth: number): readonly TreeRow[] =>
    [...folder].flatMap(([name, item]) => {
      if (typeof item === 'number') return [{ path: `${before}${name}`, name, depth, file: item }];
      const [only] = item;
      if (item.size === 1 && only !== undefined && typeof only[1] === 'object')
        return walk(new Map([[`${name}${only[0]}`, only[1]]]), before, depth);
      const path = `${before}${name}`;
      return [
        { path, name, depth, file: null },
        ...(closed.has(path) ? [] : walk(item, path, depth + 1)),
      ];
    });
  return walk(root, '', 1);
};
