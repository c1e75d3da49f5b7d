/** `emend patch`: applies an answer from a file or stdin to a workspace, with the job's own transaction, no server and no model. */
import type { PatchReport } from '../json.js';
import { newStepKey } from '../../client/ids.js';
import type { Reason } from '../../edits/index.js';
import { EXIT, type ExitCode } from '../../shared/problems.js';
import type { Io } from '../io.js';
import { applyLocally } from '../patch/apply-or-wait.js';
import { formatOf, judge, limitOf, readConfig, type Judged } from '../patch/judge.js';
import { localWorkspace, openLocal, type Local } from '../patch/open-local.js';
import { readAnswer } from '../patch/read-answer.js';
import { drawPatch, sealPatch } from '../patch/seal-answer.js';
import { printPatch } from '../render/patch.js';
import { asides, type QuietFlag } from '../quiet.js';
import { transactionLines } from '../render/transactions.js';

export interface PatchFlags extends QuietFlag {
  readonly workspace?: string;
  readonly format: string;
  readonly check?: true;
  readonly json?: true;
}

/** The names of `source` and of the files in the answer are the only ones that are read, besides `emend.yaml`. */
export const patch = async (io: Io, source: string, flags: PatchFlags): Promise<ExitCode> => {
  const workspace = await localWorkspace(io, flags.workspace);
  const config = await readConfig(workspace);
  const answer = await readAnswer(io, source, limitOf(config, 'maxAnswer_bytes'));
  const format = formatOf(flags.format, answer);
  const check = flags.check === true;
  const local = check ? null : await openLocal(io, { existing: false, recover: true });
  for (const line of transactionLines(local?.recovered ?? [])) io.err(line);
  const judged = await judge(workspace, config, format, answer);
  const report = reportOf(workspace, judged, check);
  const done = local === null ? report : await write(local, workspace, judged, report);
  await printPatch(
    io,
    { ...done, recovered: local?.recovered ?? [] },
    {
      check,
      json: flags.json === true,
      aside: asides(io, flags),
    },
  );
  return done.exit;
};

type Report = Omit<PatchReport, 'recovered'>;

/** What the answer comes to before anything is written. */
const reportOf = (workspace: string, { format, outcome, offered }: Judged, check: boolean): Report => {
  const base = { v: 1, workspace, format, checked: check, patch: null, conflicts: [] } as const;
  const nothing = { files: [], rungs: [], findings: [], notes: [], reasons: [], diff: '' };
  if (outcome.outcome === 'edited') {
    const { rungs, findings } = outcome;
    const notes = outcome.notes.filter(isWanted);
    return {
      ...base,
      ...nothing,
      outcome: 'would_apply',
      ...drawPatch(outcome, offered),
      rungs,
      findings,
      notes,
      exit: EXIT.done,
    };
  }
  const unchanged = outcome.outcome === 'unchanged';
  const told = unchanged ? { notes: outcome.reasons.filter(isWanted) } : { reasons: outcome.reasons };
  return { ...base, ...nothing, outcome: outcome.outcome, ...told, exit: unchanged ? EXIT.done : EXIT.refused };
};

/** No marker is asked for, so that there is none is nothing to tell. */
const isWanted = ({ code }: Reason): boolean => !code.startsWith('marker_');

const write = async (local: Local, workspace: string, judged: Judged, report: Report): Promise<Report> => {
  if (judged.outcome.outcome !== 'edited') return report;
  const stepKey = newStepKey();
  const proposal = await sealPatch(local.blobs, stepKey, judged.outcome, judged.offered);
  const { outcome, conflicts } = await applyLocally(local, workspace, proposal);
  const exit = outcome === 'base_changed' || conflicts.length > 0 ? EXIT.conflict : EXIT.done;
  return { ...report, outcome, conflicts, exit, ...(outcome === 'base_changed' ? {} : { patch: stepKey }) };
};
