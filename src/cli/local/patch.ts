/** From an answer to what it would do to the workspace; nothing is written. */
import * as engine from '../../edits/index.js';
import { encodingOf, type ProjectConfig, resolveLimits } from '../../documents/job/index.js';
import {
  eolsForNewFiles,
  isAbsent,
  inspectTarget,
  listWorkspaceFiles,
  NEW_FILE_MODE,
  namesAround,
  pointerProblem,
  sparseProblem,
} from '../../workspace/files/index.js';
import { readGiven } from '../../system/given-file.js';
import { DIALECTS, FORMATS, type AnswerFormat } from '../../shared/formats.js';
import type { LimitName } from '../../shared/limits.js';
import { fail, type Problem } from '../../shared/problems.js';
import { loadSyntax } from '../../syntax/index.js';
import type { StepKey } from '../../shared/ids.js';
import type { ProposalFileSummary } from '../../shared/proposal-activities.js';
import type { BlobStore } from '../../stores/ports.js';
import type { Proposal, ProposalFile } from '../../workspace/proposal.js';
import { withSimilarRenames } from './patch-renames.js';

// The files that an answer names, read from the workspace: exactly those, and only inside it.

export interface Gathered {
  readonly files: ReadonlyMap<string, engine.OfferedFile>;
  /** Paths that lead out of the workspace, name no regular file, or are too large or too many: the answer is not applied. */
  readonly reasons: readonly engine.Reason[];
  /** What new files end their lines with, by path. */
  readonly newFileEols: ReadonlyMap<string, '\n' | '\r\n'>;
  /** Paths of the answer at which there is nothing. */
  readonly absent: readonly string[];
  /** Of existing files, those that have other names as well. */
  readonly linked: readonly string[];
  /** Paths whose content git keeps elsewhere; a deletion is still possible. */
  readonly elsewhere: readonly engine.Reason[];
  /** Where any is absent, the files of the workspace and what differs from an absent one in letter case alone. */
  readonly beside: readonly string[];
}
interface Wanted extends Pick<engine.ApplyAnswerInput, 'format' | 'answer' | 'options'> {
  readonly workspace: string;
  readonly config: ProjectConfig;
  readonly maxFile_bytes: number;
  readonly maxFiles: number;
}

/** Collects files and reasons while an answer is read. */
class Gathering {
  readonly files = new Map<string, engine.OfferedFile>();
  readonly reasons: engine.Reason[] = [];
  readonly absent: string[] = [];
  readonly linked: string[] = [];
  readonly elsewhere: engine.Reason[] = [];
  readonly #request: Wanted;
  /** Null: they were not needed yet. */
  #workspaceFiles: readonly string[] | null = null;

  constructor(request: Wanted) {
    this.#request = request;
  }

  /** Reads the file of a path, if there is one. */
  async add(path: string): Promise<void> {
    const { workspace, config, maxFile_bytes } = this.#request;
    const inspection = await inspectTarget(workspace, path, maxFile_bytes);
    if (inspection.ok) {
      const { realPath, mode, names } = inspection.value;
      const encoding = encodingOf(config, path);
      const bytes = await readGiven(realPath);
      const pointer = pointerProblem(path, bytes);
      if (pointer !== null) this.elsewhere.push(reasonOf(path, pointer));
      if (names > 1) this.linked.push(path);
      this.files.set(path, { bytes, mode, ...(encoding === undefined ? {} : { encoding }) });
    } else if (isAbsent(inspection.problem)) this.absent.push(path);
    else this.reasons.push(reasonOf(path, { ...inspection.problem, next: '' }));
  }

  /** The files of the workspace. */
  async listFiles(): Promise<readonly string[]> {
    return (this.#workspaceFiles ??= await listWorkspaceFiles(this.#request.workspace));
  }

  /** Returns all that was collected, with what new files need to know of the existing ones. */
  async finish(): Promise<Gathered> {
    const { workspace } = this.#request;
    const { files, reasons, absent, linked, elsewhere } = this;
    const gathered = { files, reasons, absent, linked, elsewhere };
    if (absent.length === 0 && this.#workspaceFiles === null)
      return { ...gathered, newFileEols: new Map(), beside: [] };
    const there = await this.listFiles();
    for (const path of absent) {
      const outside = sparseProblem(path, there);
      if (outside !== null) elsewhere.push(reasonOf(path, outside));
    }
    const newFileEols = await eolsForNewFiles(workspace, absent, there);
    const otherPaths = [...(await namesAround(workspace, absent)), ...there];
    return { ...gathered, newFileEols, beside: otherPaths };
  }
}

/** Reading an answer may ask for a file only once another is there, so it is read until it asks for nothing new. */
const gatherFiles = async (wanted: Wanted): Promise<Gathered> => {
  const { format, answer, options, maxFiles } = wanted;
  const gathering = new Gathering(wanted);
  const { files } = gathering;
  const seen = new Set<string>();
  let otherPaths: readonly string[] | null = null;
  let isMissing = false;
  for (;;) {
    const news = engine
      .wantedPaths({ format, answer, files, options: { ...options, beside: otherPaths ?? [] } })
      .filter((path) => !seen.has(path));
    if (news.length === 0) {
      isMissing ||= gathering.absent.length > 0;
      if (otherPaths !== null || !isMissing) return gathering.finish();
      // Instead of a file that is not there another one may be meant.
      otherPaths = await gathering.listFiles();
    }
    for (const asked of news) {
      seen.add(asked);
      const checked = engine.checkPath(asked);
      isMissing ||= !checked.ok;
      // The answer's own reading refuses it by name.
      if (!checked.ok) continue;
      await gathering.add(checked.path);
      if (files.size > maxFiles) {
        const message = `The answer names more than ${maxFiles} files (maxFilesPerStep). Send it in parts.`;
        const { absent, linked, elsewhere } = gathering;
        const reasons = [{ code: 'too_many_files', message }];
        return { files, reasons, newFileEols: new Map(), absent, linked, elsewhere, beside: [] };
      }
    }
  }
};

const reasonOf = (path: string, { code, message, next = '' }: Problem): engine.Reason => ({
  code,
  path,
  message: `${sentence(message)} ${next}`.trim(),
});
const sentence = (text: string): string => (text.endsWith('.') ? text : `${text}.`);

export interface PatchOutcome {
  readonly format: AnswerFormat;
  /** As `applyAnswer` says it, or `refused` where a path is not one of the workspace's files. */
  readonly outcome: engine.AnswerOutcome;
  /** The files that the answer names and that exist. */
  readonly offered: ReadonlyMap<string, engine.OfferedFile>;
}

/** No job says anything here: emend.yaml, else the defaults. */
export const limitOf = (config: ProjectConfig, name: LimitName): number =>
  resolveLimits(config, { limits: {} }, {})[name] ?? Infinity;

const ANSWER_FORMATS: readonly AnswerFormat[] = [...FORMATS, ...DIALECTS];

/** `asked`: a format, or `auto`. Throws ProblemError `usage` where no format can be told. */
export const formatOf = (asked: string, answer: string): AnswerFormat => {
  const named = ANSWER_FORMATS.find((name) => name === asked);
  if (named !== undefined) return named;
  const list = ANSWER_FORMATS.join(', ');
  if (asked !== 'auto')
    return fail('usage', `--format expected auto or one of ${list}; received "${asked}".`);
  if (answer.trim() === '') return fail('usage', 'Expected an edit, received nothing.');
  return (
    engine.detectFormat(answer) ??
    fail(
      'usage',
      `The answer is not in a known format. ${engine.seenIn(answer)}`,
      `Choose one with --format: ${list}.`,
    )
  );
};

/**
 * Running the command is the decision: no marker is asked for, files may be made and deleted, tolerances have their defaults or what
 * emend.yaml says. What remains to refuse is what does not fit, and findings that refuse.
 */
export const applyToFiles = async (
  workspace: string,
  config: ProjectConfig,
  format: AnswerFormat,
  answer: string,
): Promise<PatchOutcome> => {
  const nonce = engine.nonceOf(answer);
  const options = {
    requireMarker: false,
    tolerances: config.tolerances,
    // There is no review that could ask about it.
    guards: { hard_link: 'refuse', ...config.guards } as const,
    allowDelete: true,
    mayCreateUnder: [''],
    ...(nonce === undefined ? {} : { nonce }),
  };
  const gathered = await gatherFiles({
    format,
    answer,
    options,
    workspace,
    config,
    maxFile_bytes: limitOf(config, 'maxFile_bytes'),
    maxFiles: limitOf(config, 'maxFilesPerStep'),
  });
  const { files, newFileEols, absent, beside, linked } = gathered;
  const syntax = await loadSyntax([...files.keys(), ...absent]);
  const outcome = engine.applyAnswer({
    format,
    answer,
    files,
    options: { ...options, newFileEols, beside, linked, syntax },
  });
  const wrong = reasonsAgainst(outcome, gathered);
  return {
    format,
    outcome:
      wrong.length > 0
        ? { outcome: 'refused', reasons: wrong }
        : withSimilarRenames(outcome, files),
    offered: files,
  };
};

/** The reasons why the paths of an answer are not those of files that it can edit. */
const reasonsAgainst = (
  outcome: engine.AnswerOutcome,
  { reasons, elsewhere }: Gathered,
): readonly engine.Reason[] => {
  // Where no file can be, none was passed over: a path that was only tried, as a diff's prefixes are, does not count.
  const edited = outcome.outcome === 'edited' ? outcome.files : null;
  const isNamed = ({ path = '' }: engine.Reason): boolean => edited?.has(path) !== false;
  const isWritten = ({ path = '' }: engine.Reason): boolean =>
    outcome.outcome !== 'unchanged' && edited?.get(path) !== 'absent';
  return [
    ...reasons.filter((reason) => !NO_FILE.has(reason.code) || isNamed(reason)),
    ...elsewhere.filter((reason) => isNamed(reason) && isWritten(reason)),
  ];
};
const NO_FILE = new Set(['name_too_long', 'target_missing', 'target_not_a_file']);

// An outcome as a proposal that the apply transaction takes: bytes in the blob store, one hash over all of it, the combined diff.

export interface PatchedFile extends Pick<
  ProposalFileSummary,
  'path' | 'change' | 'added' | 'removed'
> {
  /** Where a moved file was. */
  readonly from?: string;
}

/** In order of paths; a move is one file. */
export const writePatch = (
  edited: engine.Edited,
  offered: ReadonlyMap<string, engine.OfferedFile>,
) => {
  const movedTo = new Map(edited.renames.map(({ from, to }) => [to, from]));
  const movedAway = new Set(edited.renames.map(({ from }) => from));
  const drawn = [...edited.files]
    .filter(([path, result]) => result !== 'absent' || !movedAway.has(path))
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([path, result]) => {
      const from = movedTo.get(path);
      const base = offered.get(from ?? path);
      const sides: engine.DiffFile = {
        path,
        base: base?.bytes ?? null,
        result: result === 'absent' ? null : result.bytes,
        ...(base?.mode === undefined ? {} : { baseMode: base.mode }),
        ...(result === 'absent' || result.mode === undefined ? {} : { resultMode: result.mode }),
        ...(from === undefined ? {} : { moveFrom: from }),
        ...(base?.encoding === undefined ? {} : { encoding: base.encoding }),
      };
      const change =
        from !== undefined
          ? 'move'
          : result === 'absent'
            ? 'delete'
            : base === undefined
              ? 'create'
              : 'edit';
      const counted = engine.countChanged([sides]);
      const file: PatchedFile = {
        path,
        change,
        ...(from === undefined ? {} : { from }),
        ...counted,
      };
      return { file, diff: sides };
    });
  return {
    diff: engine.combinedDiff(drawn.map(({ diff }) => diff)),
    files: drawn.map(({ file }) => file),
  };
};

/** Bases and results go into the blob store: undo needs the ones, recovery the others. */
export const buildPatch = async (
  blobs: BlobStore,
  stepKey: StepKey,
  edited: engine.Edited,
  offered: ReadonlyMap<string, engine.OfferedFile>,
): Promise<Proposal> => {
  const files: ProposalFile[] = [];
  for (const [path, result] of [...edited.files].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const base = offered.get(path);
    const baseMode = base?.mode ?? NEW_FILE_MODE;
    files.push({
      path,
      base: base?.bytes == null ? null : { ref: await blobs.put(base.bytes), mode: baseMode },
      result:
        result === 'absent'
          ? null
          : { ref: await blobs.put(result.bytes), mode: result.mode ?? baseMode },
      by: 'model',
    });
  }
  return { stepKey, files, renames: edited.renames };
};
