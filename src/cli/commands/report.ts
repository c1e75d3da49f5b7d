/** `emend report`: from the archive of this machine, so that it works for runs that no server knows any more. */
import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { recordedUsage, phaseCosts, reportFacts } from '../../client/archive/report.js';
import { reading } from '../../client/open.js';
import { refreshRun, resolveRun } from '../../client/runs/resolve.js';
import { hideSecrets, instructionsOf } from '../../client/runs/proposal.js';
import { runDiff, testRuns } from '../../client/runs/show.js';
import type { Emend } from '../../client/types.js';
import { fail, nullOn } from '../../shared/problems.js';
import { redact } from '../../system/environment.js';
import { type Io, type JsonFlag, asides, type QuietFlag } from '../io.js';
import { jsonText } from '../json.js';
import { plain } from '../render/text.js';
import { reportDocument } from '../report/document.js';
import { renderHtml, renderMarkdown } from '../report/render.js';
import { withEmend } from '../session.js';

export interface ReportFlags extends JsonFlag, QuietFlag {
  readonly html?: true;
  readonly markdown?: true;
  readonly out?: string;
  readonly whole?: true;
}

export const report = (io: Io, run: string, { out, ...flags }: ReportFlags): Promise<void> =>
  withEmend(io, async (emend) => {
    const { facts, omitted, ...found } = await reading(emend, (told) => toldOf(told, run, flags));
    if (omitted !== null) io.err(omitted);
    const phases = await phaseCosts(facts.events, (child) => recordedUsage(emend.calls, child));
    const texts = { ...found, phases };
    const render = flags.html === true ? renderHtml : renderMarkdown;
    const asJson = flags.json === true ? `${jsonText('report', { ...facts, ...texts })}\n` : null;
    const written = redact(asJson ?? render(reportDocument(facts, texts)), io.env);
    if (out === undefined) io.write(written);
    else {
      await writeFile(resolve(io.cwd, out), written).catch((error: unknown) =>
        fail('disk', `Cannot write ${out}: ${String(error).split(/: |, /)[2]}.`, 'Name another file with --out.'),
      );
      asides(io, flags).err(`wrote ${plain(out)}`);
    }
  });

const toldOf = async (emend: Emend, text: string, { whole }: Pick<ReportFlags, 'whole'>) => {
  const run = await refreshRun(emend, await resolveRun(emend, text));
  const facts = reportFacts(run.archived);
  // A blob that is gone leaves its section empty, not the report.
  const found = await runDiff(emend, run).catch(nullOn());
  const tests = await hideSecrets(await testRuns(emend, run, { whole }));
  const instructions = await instructionsOf(emend, run);
  return {
    facts,
    omitted: run.archived.omitted,
    diff: found?.diff ?? null,
    mustAsk: found?.proposal.mustAsk ?? [],
    instructions,
    tests,
  };
};
