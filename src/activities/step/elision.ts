/**
 * Judges lines of a response that stand for text (`// ... rest of the code`). A line that a target, a context file or a deleted file holds
 * is text. A response with any other such line is refused, so that the model sends the text. If the model repeats it in the last format, the
 * reviewer decides.
 */
import type { AnswerOutcome, ApplyAnswerInput } from '../../edits/index.js';
import type { Finding, GuardSettings } from '../../shared/formats.js';
import type { ProposeInput } from '../../shared/step-activities.js';
import type { BlobStore } from '../../stores/ports.js';
import type { GuardInput } from '../frame/edit-work.js';
import { isRepeated } from './refusals.js';
import type { Snapshot } from './snapshot.js';

const ELISION = 'elision';

interface StepFiles {
  readonly blobs: BlobStore;
  readonly snapshot: Snapshot;
}

interface Attempt extends StepFiles {
  readonly input: Pick<ProposeInput, 'refusal'>;
  /** The file fails if the response is refused for the same reasons again. */
  readonly isLastFormat: boolean;
}

/** Judges a response, and judges it again with the other files of the step if it is refused for a placeholder. */
export async function judgeElisions(
  judgeOne: (response: ApplyAnswerInput) => Promise<AnswerOutcome>,
  response: ApplyAnswerInput,
  { blobs, snapshot, input, isLastFormat }: Attempt,
): Promise<AnswerOutcome> {
  const alone = await judgeOne(response);
  if (!codesOf(alone).includes(ELISION)) return alone;
  const { options } = response;
  const elsewhere = await filesOfStep({ blobs, snapshot });
  const outcome = await judgeOne({ ...response, options: { ...options, elsewhere } });
  const codes = codesOf(outcome);
  const mayInsist = isLastFormat && snapshot.config.guards.elision === undefined;
  if (!mayInsist || !codes.every((code) => code === ELISION)) return outcome;
  if (codes.length === 0 || !(await isRepeated(blobs, input.refusal, codes))) return outcome;
  const guards = askingGuards(options.guards);
  return judgeOne({ ...response, options: { ...options, elsewhere, guards } });
}

/** Runs the guards on a proposal. Its placeholders were refused before, so what is left of them is for the reviewer. */
export async function guardElisions(
  runGuards: (input: GuardInput) => Promise<readonly Finding[]>,
  input: GuardInput,
  files: StepFiles,
): Promise<readonly Finding[]> {
  const asking = { ...input, guards: askingGuards(input.guards) };
  const findings = await runGuards(asking);
  return findings.some(({ guard }) => guard === ELISION)
    ? runGuards({ ...asking, elsewhere: await filesOfStep(files) })
    : findings;
}

/** A severity that `emend.yaml` sets stays. */
const askingGuards = (guards: GuardSettings | undefined): GuardSettings => ({
  elision: 'ask',
  ...guards,
});

const codesOf = (outcome: AnswerOutcome): readonly string[] =>
  outcome.outcome === 'refused' ? outcome.reasons.map(({ code }) => code) : [];

/** Reads the targets as they were, those that are deleted included, and the context files. */
const filesOfStep = async ({
  blobs,
  snapshot,
}: StepFiles): Promise<NonNullable<GuardInput['elsewhere']>> => {
  const targets = snapshot.targets.flatMap(({ base, encoding }) =>
    base === null ? [] : [{ ref: base.ref, encoding }],
  );
  const context = snapshot.context.map(({ ref }) => ({ ref, encoding: null }));
  return Promise.all(
    [...targets, ...context].map(async ({ ref, encoding }) => ({
      bytes: await blobs.get(ref),
      ...(encoding === null ? {} : { encoding }),
    })),
  );
};
