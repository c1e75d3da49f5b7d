/** Builds a tree of folders from the files of a proposal. A folder whose only entry is a folder shares one row with it. Pure. */

export interface TreeRow {
  /** Path from the root of the repository. The path of a folder ends with `/`. */
  readonly path: string;
  readonly name: string;
  /** Depth in the tree, from 1. */
  readonly depth: number;
  /** Index of the file in the proposal. Null: the row is a folder. */
  readonly file: number | null;
}
/** Entries of a folder by name. A number is the index of a file. */
type Folder = Map<string, Folder | number>;

/** Returns the rows of the files that `isWanted` accepts. `closed` has the folders whose files are hidden. */
export const treeRows = (
  files: readonly { readonly path: string }[],
  isWanted: (path: string) => boolean,
  closed: ReadonlySet<string>,
): readonly TreeRow[] => {
  const root: Folder = new Map();
  files.forEach(({ path }, index) => {
    // `src/`, `web/`, `index.ts`
    const names = isWanted(path) ? (path.match(/[^/]*\/|[^/]+$/g) ?? []) : [];
    let folder = root;
    for (const name of names) {
      const entry = folder.get(name);
      const inner = typeof entry === 'object' ? entry : new Map<string, Folder | number>();
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
