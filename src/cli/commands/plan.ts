/** `emend plan check|score|show`: what a plan says. No server, no model, nothing written. */
import { reportOf, type PlanReport } from '../../plan/report.js';
import { EXIT, type ExitCode } from '../../shared/problems.js';
import { refuseHalfDone } from '../half-done.js';
import type { Io } from '../io.js';
import { printJson } from '../json.js';
import { readPlan, refuseFaults } from '../../plan-files/read.js';
import { checkLines, scoreLines, showLines } from '../render/plan.js';

interface Flags {
  readonly json?: true;
}

const command =
  (lines: (report: PlanReport, io: Io) => readonly string[]) =>
  async (io: Io, path: string, flags: Flags): Promise<ExitCode> => {
    await refuseHalfDone(io, path);
    const plan = await readPlan(io.cwd, path);
    const report = reportOf(plan.tree, plan.thresholds, plan.show);
    refuseFaults(report.faults);
    if (flags.json === true) printJson(io, 'plan check', report);
    else for (const line of lines(report, io)) io.out(line);
    return EXIT.done;
  };

export const check = command(checkLines);
export const score = command(scoreLines);
export const show = command(showLines);
