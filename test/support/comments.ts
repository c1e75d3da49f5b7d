/** Finds the comments of a source, as the scanner of TypeScript does between the tokens: no text of a string, a template or JSX is one. */
import ts from 'typescript';

/** The characters [pos, end) of a source. */
export interface CommentRange {
  readonly pos: number;
  readonly end: number;
}

/** Returns the ranges of all comments, each once. The ending of the path chooses between TypeScript and TSX. */
export function commentRanges(path: string, text: string): readonly CommentRange[] {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, false);
  const ranges = new Map<number, CommentRange>();
  const visit = (node: ts.Node): void => {
    const children = node.getChildren(source).filter((child) => !ts.isJSDoc(child));
    // The text of a JSX element may look like a comment.
    if (children.length === 0 && !ts.isJsxText(node))
      for (const range of [
        ...(ts.getLeadingCommentRanges(text, node.pos) ?? []),
        ...(ts.getTrailingCommentRanges(text, node.end) ?? []),
      ])
        ranges.set(range.pos, range);
    for (const child of children) visit(child);
  };
  visit(source);
  return [...ranges.values()];
}
