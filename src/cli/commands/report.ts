/** `emend report`: from the archive of this machine, so that it works for runs that no server knows any more. */
import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { paidUsage } from '../../client/paid.js';
import { phaseCosts } from '../../client/phase-costs.js';
import { reportFacts, type ReportFacts } from '../../client/report-facts.js';
import { reading } from '../../client/reading.js';
import { refreshRun, resolveRun } from '../../client/resolve-run.js';
import { runDiff } from '../../client/show-run.js';
import type { Emend } from '../../client/types.js';
import { SHOWN_BOUNDS } from '../../shared/bounds.js';
import { EXIT, ProblemError, type ExitCode } from '../../shared/problems.js';
import type { BlobRef } from '../../shared/refs.js';
import { redact } from '../../workspace/runner-env.js';
import type { Io } from '../io.js';
import { jsonText } from '../json.js';
import { asides, type QuietFlag } from '../quiet.js';
import { plain } from '../render/text.js';
import { type ReportMore, reportDocument } from '../report/document.js';
import { renderHtml } from '../report/html.js';
import { renderMarkdown } from '../report/markdown.js';
import { withEmend } from '../with-emend.js';

export interface ReportFlags extends QuietFlag {
  readonly html?: true;
  readonly markdown?: true;
  readonly out?: string;
  readonly json?: true;
}

export const report = (io: Io, run: string, flags: ReportFlags): Promise<ExitCode> =>
  withEmend(io, async (emend) => {
    const { facts, diff } = await reading(emend, (told) => toldOf(told, run));
    const outputs = await Promise.all(facts.verifications.map(({ output }) => outputOf(emend, output)));
    const phases = await phaseCosts(facts.events, (child) => paidUsage(emend.store, child));
    const texts = { diff, outputs, phases };
    const written = redact(flags.json === true ? jsonOf(facts, texts) : rendered(facts, texts, flags), io.env);
    if (flags.out === undefined) io.write(written);
    else {
      await writeFile(resolve(io.cwd, flags.out), written);
      asides(io, flags).err(`wrote ${plain(flags.out)}`);
    }
    return EXIT.done;
  });

interface Told {
  readonly facts: ReportFacts;
  /** Null: no proposal, or its blobs are gone. */
  readonly diff: string | null;
}
const toldOf = async (emend: Emend, text: string): Promise<Told> => {
  const run = await refreshRun(emend, await resolveRun(emend, text));
  const facts = reportFacts(run.archived, await emend.archive.read(run.stepKey));
  // A blob that is gone leaves its section empty, not the report.
  const found = await runDiff(emend, run).catch(missing);
  return { facts, diff: found?.diff ?? null };
};

const rendered = (facts: ReportFacts, texts: ReportMore, flags: ReportFlags): string => {
  const made = reportDocument(facts, texts);
  return flags.html === true ? renderHtml(made) : renderMarkdown(made);
};
const jsonOf = (facts: ReportFacts, texts: ReportMore): string => `${jsonText('report', { ...facts, ...texts })}\n`;

const missing = (error: unknown): null => {
  if (error instanceof ProblemError) return null;
  throw error;
};

const outputOf = async ({ blobs }: Emend, ref: BlobRef | null): Promise<string | null> => {
  if (ref === null) return null;
  const bytes = await blobs.get(ref).catch(missing);
  const text = bytes === null ? null : new TextDecoder().decode(bytes);
  return text === null || text.length <= SHOWN_BOUNDS.reportOutput_chars
    ? text
    : `(the first ${text.length - SHOWN_BOUNDS.reportOutput_chars} characters are left out)\n${text.slice(-SHOWN_BOUNDS.reportOutput_chars)}`;
};
