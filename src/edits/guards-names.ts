/** New names that another file system takes for those of other files, or cannot hold. */
import type { Finding } from '../shared/formats.js';
import { foldedName } from '../shared/text.js';

/** Characters that Windows allows in no name; a blank or a dot that it drops at the end of one. */
const NOT_ON_WINDOWS = /[<>:"|?*]|[. ](?=\/|$)/;

/**
 * `made`: paths of new files and targets of moves. `there`: paths (of folders too) that stand beside them afterwards. One finding a new
 * path at most.
 */
export const nameFindings = (made: readonly string[], there: readonly string[]): Finding[] => {
  // Each path with the folders that it lies in, as it is spelt first.
  const spelt = new Map<string, string>();
  const twinOf = (path: string): readonly [string, string] | null => {
    for (const part of withFolders(path)) {
      const folded = foldedName(part);
      const other = spelt.get(folded);
      if (other === undefined) spelt.set(folded, part);
      else if (other !== part) return [part, other];
    }
    return null;
  };
  for (const path of there) twinOf(path);
  return made.flatMap((path): Finding[] => {
    const ask = (message: string): Finding[] => [{ guard: 'file_name', severity: 'ask', path, message }];
    const twin = twinOf(path);
    if (twin !== null)
      return ask(
        `${twin[0]} is new, and ${twin[1]} is the same name where letter case does not count (macOS, Windows).`,
      );
    const [odd] = NOT_ON_WINDOWS.exec(path) ?? [];
    return odd === undefined
      ? []
      : ask(`${path} is new, and its name (${JSON.stringify(odd)}) cannot be made on Windows.`);
  });
};

const withFolders = (path: string): readonly string[] => {
  const parts = path.split('/');
  return parts.map((_, at) => parts.slice(0, at + 1).join('/'));
};
