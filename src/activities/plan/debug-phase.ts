/** A report on why the tests of a phase fail: a file of the archive that the next attempt reads. Without one the attempt goes without. */
import { z } from 'zod';
import { buildDebugRequest } from '../../model/prompt/plan.js';
import type { DebugPhaseInput, DebugPhaseResult } from '../../shared/plan/advice.js';
import type { PhaseTexts } from '../../shared/plan/activities.js';
import type { ActivityScope } from '../boundary.js';
import type { ActivityDependencies } from '../dependencies.js';
import { getJson, putText } from '../snapshot.js';
import { advise, checkedBy, failuresShown } from './advice.js';
import { MODEL_BOUNDS } from '../../shared/bounds.js';

const text = z.string({ error: 'a text' }).transform((value) =>
  value
    .replace(/\p{Cc}(?<![\n\t])/gu, ' ')
    .trim()
    .slice(0, MODEL_BOUNDS.debug_chars),
);
const list = z.array(text, { error: 'a list of texts' }).transform((items) => items.slice(0, MODEL_BOUNDS.debugItems));
const schema = z.object({
  cause: text.refine((value) => value !== '', { error: 'a cause' }),
  evidence: list.default([]),
  fix: list.default([]),
  files: list.default([]),
});
type Report = z.infer<typeof schema>;

export const debugPhase =
  (dependencies: ActivityDependencies) =>
  async (input: DebugPhaseInput, scope: ActivityScope): Promise<DebugPhaseResult> => {
    const { blobs, archive } = dependencies;
    const texts = await getJson<PhaseTexts>(blobs, input.texts, 'phase texts');
    const phase = { ...input.phase, text: texts.phases[input.phase.id]?.text ?? '' };
    const failures = await failuresShown(dependencies, input.failures);
    const advised = await advise<Report>(
      dependencies,
      {
        ...{ stepKey: input.stepKey, settings: input.settings, role: 'debug', phase: phase.id, draw: input.draw },
        ...{ about: `${phase.name}\n\n${phase.text}`, notes: JSON.stringify(failures), complexity: 'high' },
        build: (model, outputBudget_tokens, refusal) =>
          buildDebugRequest({ model, outputBudget_tokens, refusal, phase, failures }),
        check: checkedBy(schema, 'a report'),
      },
      scope,
    );
    if (!advised.ok) {
      const { message, usage, down } = advised;
      return { v: 1, report: null, path: null, message, usage, ...(down === undefined ? {} : { down }) };
    }
    const words = reportText(advised.value);
    const name = `debug-${phase.id}-${input.draw}`;
    const { path } = await archive.keep(input.stepKey, name, { v: 1, phase: input.phase, ...advised.value });
    return { v: 1, report: await putText(blobs, words), path, message: null, usage: advised.usage };
  };

function reportText({ cause, evidence, fix, files }: Report): string {
  const items = (title: string, lines: readonly string[]): string =>
    lines.length === 0 ? '' : `\n\n${title}:\n${lines.map((line) => `- ${line}`).join('\n')}`;
  return `Cause: ${cause}${items('Evidence', evidence)}${items('What to do', fix)}${items('Files', files)}`;
}
