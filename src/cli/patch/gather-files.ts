/** The files that an answer names, read from the workspace: exactly those, and only inside it. */
import { checkPath, wantedPaths, type ApplyAnswerInput, type OfferedFile, type Reason } from '../../edits/index.js';
import { encodingOf } from '../../job/encodings.js';
import type { ProjectConfig } from '../../job/types.js';
import { eolForNewFile, inspectTarget, listWorkspaceFiles } from '../../workspace/files.js';
import { namesBeside } from '../../workspace/names-beside.js';
import { readGiven } from '../../workspace/given-file.js';

export interface Gathered {
  readonly files: ReadonlyMap<string, OfferedFile>;
  /** Paths that lead out of the workspace, name no regular file, or are too large or too many: the answer is not applied. */
  readonly reasons: readonly Reason[];
  readonly newFileEol: '\n' | '\r\n';
  /** Paths of the answer at which there is nothing. */
  readonly absent: readonly string[];
  /** What differs from an absent one in letter case alone. */
  readonly beside: readonly string[];
}
interface Wanted extends Pick<ApplyAnswerInput, 'format' | 'answer' | 'options'> {
  readonly workspace: string;
  readonly config: ProjectConfig;
  readonly maxFile_bytes: number;
  readonly maxFiles: number;
}

/** Reading an answer may ask for a file only once another is there, so it is read until it asks for nothing new. */
export const gatherFiles = async (wanted: Wanted): Promise<Gathered> => {
  const { format, answer, options, workspace, config, maxFile_bytes, maxFiles } = wanted;
  const files = new Map<string, OfferedFile>();
  const absent: string[] = [];
  const reasons: Reason[] = [];
  const seen = new Set<string>();
  for (;;) {
    const news = wantedPaths({ format, answer, files, options }).filter((path) => !seen.has(path));
    if (news.length === 0) break;
    for (const asked of news) {
      seen.add(asked);
      const checked = checkPath(asked);
      // The answer's own reading refuses it by name.
      if (!checked.ok) continue;
      const { path } = checked;
      const found = await inspectTarget(workspace, path, maxFile_bytes);
      if (found.ok) {
        const encoding = encodingOf(config, path);
        const bytes = await readGiven(found.value.realPath);
        files.set(path, { bytes, mode: found.value.mode, ...(encoding === undefined ? {} : { encoding }) });
      } else if (found.problem.code === 'target_missing') absent.push(path);
      else reasons.push({ code: found.problem.code, path, message: sentence(found.problem.message) });
      if (files.size > maxFiles) {
        const message = `The answer names more than ${maxFiles} files (maxFilesPerStep). Send it in parts.`;
        return { files, reasons: [{ code: 'too_many_files', message }], newFileEol: '\n', absent, beside: [] };
      }
    }
  }
  const newFileEol = await endingOf(workspace, absent);
  return { files, reasons, newFileEol, absent, beside: await namesBeside(workspace, absent) };
};

const sentence = (text: string): string => (text.endsWith('.') ? text : `${text}.`);

/** How new files end their lines, as the first of them would. */
const endingOf = async (workspace: string, absent: readonly string[]): Promise<'\n' | '\r\n'> => {
  const [first] = absent;
  if (first === undefined) return '\n';
  return eolForNewFile(workspace, first, (await listWorkspaceFiles(workspace)).files);
};
