/** `emend patch`: applies an answer from a file or stdin to a workspace, with the job's own transaction, no server and no model. */
import { open } from 'node:fs/promises';
import { resolve } from 'node:path';
import { printJson } from '../json.js';
import type { PatchReport } from '../json-types.js';
import { newStepKey } from '../../client/runs/new-key.js';
import { renderReasons, type Reason, type UsedTolerance } from '../../edits/index.js';
import { TOLERANCES } from '../../shared/formats.js';
import { EXIT, type ExitCode, fail, valueOf } from '../../shared/problems.js';
import { type Io, type JsonFlag, type Asides, asides, type QuietFlag, readUpTo } from '../io.js';
import { applyLocally, localWorkspace, openLocal, type Local } from '../local/open.js';
import {
  formatOf,
  applyToFiles,
  limitOf,
  type PatchedFile,
  type PatchOutcome,
  writePatch,
  buildPatch,
} from '../local/patch.js';
import { orNull } from '../../system/durable.js';
import { readConfig } from '../../workspace/documents/index.js';
import { printDiff, count, plain, table } from '../render/text.js';

// The answer of `emend patch`, from a file or stdin: bounded, and decoded.

/** `source` is a path, or `-` for stdin. Throws ProblemError `usage` (no such file), `limit_reached` or `disk`. */
const readAnswer = async (io: Io, source: string, most_bytes: number): Promise<string> => {
  const bytes =
    source === '-'
      ? await io.readAll(most_bytes)
      : await readBounded(resolve(io.cwd, source), most_bytes);
  if (bytes !== null) return decodeAnswer(bytes);
  return fail(
    'limit_reached',
    `The answer has more than ${most_bytes} bytes (maxAnswer_bytes).`,
    'Send it in parts, or raise `limits: maxAnswer_bytes` in emend.yaml.',
  );
};

/** Null: it holds more. A size that the file system tells is not trusted: pipes and files that grow have none. */
const readBounded = async (path: string, most_bytes: number): Promise<Uint8Array | null> => {
  const next = 'Name the file with the answer, or `-` for stdin.';
  const file =
    (await orNull(open(path, 'r'), ['ENOENT', 'ENOTDIR'])) ??
    fail('usage', `File ${path} not found.`, next);
  try {
    if ((await file.stat()).isDirectory()) return fail('usage', `${path} is a directory.`, next);
    return await readUpTo(most_bytes, file.createReadStream({ autoClose: false }));
  } finally {
    await file.close();
  }
};

/**
 * UTF-8, or UTF-16 where a byte order mark says so (a Windows shell writes that); the mark is taken off. Bytes that are no UTF-8 are
 * read as the characters of their numbers, as files are that are no UTF-8 either: a diff of such a file then fits it.
 */
const decodeAnswer = (bytes: Uint8Array): string => {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return new TextDecoder('utf-16le').decode(bytes);
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return new TextDecoder('utf-16be').decode(bytes);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return Buffer.from(bytes).toString('latin1');
  }
};

export interface PatchFlags extends JsonFlag, QuietFlag {
  readonly workspace?: string;
  readonly format: string;
  readonly check?: true;
}

/** The names of `source` and of the files in the answer are the only ones that are read, besides `emend.yaml`. */
export const patch = async (io: Io, source: string, flags: PatchFlags): Promise<ExitCode> => {
  const workspace = await localWorkspace(io, flags.workspace);
  const config = valueOf(await readConfig(workspace));
  const answer = await readAnswer(io, source, limitOf(config, 'maxAnswer_bytes'));
  const format = formatOf(flags.format, answer);
  const check = flags.check === true;
  const local = check ? null : await openLocal(io, { existing: false, recover: true });
  const judged = await applyToFiles(workspace, config, format, answer);
  const report = reportOf(workspace, judged, check);
  const done = local === null ? report : await write(local, workspace, judged, report);
  await print(io, { ...done, recovered: local?.recovered ?? [] }, flags);
  return done.exit;
};

type Report = Omit<PatchReport, 'recovered'>;

/** What the answer comes to before anything is written. */
export const reportOf = (
  workspace: string,
  { format, outcome, offered }: PatchOutcome,
  check: boolean,
): Report => {
  const base = { v: 1, workspace, format, checked: check, patch: null, conflicts: [] } as const;
  const nothing = { files: [], tolerances: [], findings: [], notes: [], reasons: [], diff: '' };
  if (outcome.outcome === 'edited') {
    const { tolerances, findings } = outcome;
    const told = { tolerances, findings, notes: outcome.notes.filter(isWanted) };
    return {
      ...base,
      ...nothing,
      outcome: 'would_apply',
      ...writePatch(outcome, offered),
      ...told,
      exit: EXIT.done,
    };
  }
  const unchanged = outcome.outcome === 'unchanged';
  const told = unchanged
    ? { notes: outcome.reasons.filter(isWanted) }
    : { reasons: outcome.reasons };
  return {
    ...base,
    ...nothing,
    outcome: outcome.outcome,
    ...told,
    exit: unchanged ? EXIT.done : EXIT.refused,
  };
};

/** No marker is asked for, so that there is none is nothing to tell. */
const isWanted = ({ code }: Reason): boolean => !code.startsWith('marker_');

const write = async (
  local: Local,
  workspace: string,
  judged: PatchOutcome,
  report: Report,
): Promise<Report> => {
  if (judged.outcome.outcome !== 'edited') return report;
  const stepKey = newStepKey();
  const proposal = await buildPatch(local.blobs, stepKey, judged.outcome, judged.offered);
  const { outcome, conflicts } = await applyLocally(local, workspace, proposal);
  const exit = outcome === 'base_changed' || conflicts.length > 0 ? EXIT.conflict : EXIT.done;
  return {
    ...report,
    outcome,
    conflicts,
    exit,
    ...(outcome === 'base_changed' ? {} : { patch: stepKey }),
  };
};

// What `emend patch` says.

/** With --check the diff alone goes to stdout, so that it can be piped. */
const print = async (io: Io, report: PatchReport, flags: PatchFlags): Promise<void> => {
  if (flags.json === true) {
    printJson(io, 'patch', report);
    return;
  }
  if (report.checked) await printDiff(io, report.diff, report.workspace);
  for (const text of patchLines(report, asides(io, flags)))
    if (report.checked) io.err(text);
    else io.out(text);
};

const patchLines = (report: PatchReport, aside: Asides): readonly string[] => [
  ...table(
    report.files.map((file) => [
      `  ${shownPath(file)}`,
      file.change,
      `+${file.added}`,
      `-${file.removed}`,
    ]),
  ),
  ...report.tolerances.map(toleranceLine),
  ...report.notes.map((note) => `  note: ${placeOf(note)}${plain(note.message)}`),
  ...report.findings.map(
    (finding) => `  ${finding.guard} in ${plain(finding.path)}: ${plain(finding.message)}`,
  ),
  ...ending(report, aside),
];

const shownPath = ({ path, from }: PatchedFile): string =>
  plain(from === undefined ? path : `${from} -> ${path}`);
const placeOf = ({ path }: Reason): string => (path === undefined ? '' : `${plain(path)}: `);
const toleranceLine = ({ tolerance, path, line }: UsedTolerance): string =>
  `  used ${tolerance} in ${plain(path)}${line === undefined ? '' : `:${line}`}: ${TOLERANCES[tolerance].what}`;

const ending = (report: PatchReport, aside: Asides): readonly string[] => {
  const { outcome, files, workspace, format, conflicts, reasons } = report;
  const touched = conflicts.map(({ why }) => `  ${plain(why)}`);
  const to = `to ${count(files.length, 'file')} in ${plain(workspace)}`;
  switch (outcome) {
    case 'applied':
      return [`Applied ${to}.${aside.after(' `emend undo` reverts it.')}`];
    case 'would_apply':
      return [`Would apply ${to} (${format}). Nothing was written.`];
    case 'unchanged':
      return ['Nothing to change: the files already match the answer.'];
    case 'base_changed':
      return [
        'Files changed while the answer was being read; nothing was written. Run it again.',
        ...touched,
      ];
    case 'conflict':
      return [
        'Applied, except files that someone saved in the meantime, which stay as they are:',
        ...touched,
      ];
    default:
      return [
        `Not applied (${outcome}, read as ${format}); nothing was written:`,
        plain(renderReasons(reasons)),
      ];
  }
};
