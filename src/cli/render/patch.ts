/** What `emend patch` says. With --check the diff alone goes to stdout, so that it can be piped. */
import type { Io, Asides } from '../io.js';
import { renderReasons, type Reason, type UsedTolerance } from '../../edits/index.js';
import { TOLERANCES } from '../../shared/formats.js';
import { printJson } from '../json.js';
import type { PatchReport } from '../json-types.js';
import type { PatchedFile } from '../local/patch.js';
import { printDiff, count, plain, table } from './text.js';

export const printPatch = async (
  io: Io,
  report: PatchReport,
  { check, json, aside }: { readonly check: boolean; readonly json: boolean; readonly aside: Asides },
): Promise<void> => {
  if (json) {
    printJson(io, 'patch', report);
    return;
  }
  if (check) await printDiff(io, report.diff, report.workspace);
  for (const text of patchLines(report, aside))
    if (check) io.err(text);
    else io.out(text);
};

const patchLines = (report: PatchReport, aside: Asides): readonly string[] => [
  ...table(report.files.map((file) => [`  ${shownPath(file)}`, file.change, `+${file.added}`, `-${file.removed}`])),
  ...report.tolerances.map(toleranceLine),
  ...report.notes.map((note) => `  note: ${placeOf(note)}${plain(note.message)}`),
  ...report.findings.map((finding) => `  ${finding.guard} in ${plain(finding.path)}: ${plain(finding.message)}`),
  ...ending(report, aside),
];

const shownPath = ({ path, from }: PatchedFile): string => plain(from === undefined ? path : `${from} -> ${path}`);
const placeOf = ({ path }: Reason): string => (path === undefined ? '' : `${plain(path)}: `);
const toleranceLine = ({ tolerance, path, line }: UsedTolerance): string =>
  `  used ${tolerance} in ${plain(path)}${line === undefined ? '' : `:${line}`}: ${TOLERANCES[tolerance].what}`;

const ending = (report: PatchReport, aside: Asides): readonly string[] => {
  const { outcome, files, workspace, format, conflicts, reasons } = report;
  const touched = conflicts.map(({ why }) => `  ${plain(why)}`);
  switch (outcome) {
    case 'applied':
      return [
        `Applied to ${count(files.length, 'file')} in ${plain(workspace)}.${aside.after(' `emend undo` reverts it.')}`,
      ];
    case 'would_apply':
      return [`Would apply to ${count(files.length, 'file')} in ${plain(workspace)} (${format}). Nothing was written.`];
    case 'unchanged':
      return ['Nothing to change: the files already match the answer.'];
    case 'base_changed':
      return ['Files changed while the answer was being read; nothing was written. Run it again.', ...touched];
    case 'conflict':
      return ['Applied, except files that someone saved in the meantime, which stay as they are:', ...touched];
    default:
      return [`Not applied (${outcome}, read as ${format}); nothing was written:`, plain(renderReasons(reasons))];
  }
};
