/** The consequence of each answer in a sentence or two, for `?` at a question. The short meaning is `meaningOf` in shared/decisions.ts. */
import type { Answer, DecisionPoint, PauseReason } from '../shared/decisions.js';

const CONSEQUENCES: Record<Answer, string> = {
  approve:
    'When every file has an answer, Emend writes the approved files, runs the tests and commits if the job asks for it.',
  skip: 'These files keep their content. If no other file is approved, the run ends without a change.',
  revise:
    'You type what should change. The model is asked again, which costs a call, and the new proposal is shown for approval. Nothing is written.',
  select: 'The accepted hunks become a new proposal, which is shown again. Nothing is written.',
  retry:
    'You may raise a limit or add a hint. The work is done again, which may cost a call. Nothing is written without an approval.',
  manual:
    'Your own version of the files counts as it is on the disk now. Emend verifies and commits it, and asks the model no more for them.',
  rebase:
    'Emend merges the proposal with the current files and shows the result for review. It asks no model.',
  regenerate:
    'The model is asked again with the current files, which costs a call. The new proposal is shown for approval.',
  take_theirs: 'The current files stay, and the proposed changes to them are dropped.',
  take: 'These files are edited. Each edit costs at least one call, and the proposal is shown for approval.',
  keep: 'The change counts although a check failed. It is applied and committed, marked as incomplete if its tests failed.',
  run: 'The command runs, and Emend remembers your consent for this workspace and this command.',
  other: 'You type a command. It runs in this run only.',
  no_tests: 'The change is not tested. It can still be approved and committed.',
  wait: 'The run offers the same work again and waits for the host or the worker.',
  move: 'You type a directory or the URL of a repository, and the run continues there.',
  expand:
    'The text of the phase moves to its own file, which is committed. Then the plan continues.',
  continue: 'The plan document stays as it is, and the next work begins.',
  force:
    'The phase is replanned once more, which costs a call, and its count of replans starts again. The output warns of it.',
  take_new: 'The unfinished phases follow the document as it is now.',
  keep_old: 'The unfinished phases follow the document as it was when the run read it.',
  resume: 'Phases that were committed count as done, and the plan continues after them.',
  restart:
    'What the earlier run left is ignored. The plan begins with the first phase without a mark.',
  adopt: 'The files as the tests wrote them become a new proposal, which is shown for approval.',
  run_once: 'The next commands run without a sandbox, with your rights. Later commands ask again.',
  run_without:
    'All commands of this run, and of later phases of its plan, run without a sandbox, with your rights.',
  mask: 'The model gets placeholders instead of the secrets. The files keep the secrets.',
  send: 'The model gets the secrets in the text of these files. What was sent is known to its server.',
  trust:
    'Emend obeys these files as they are now, in this run and in later runs of this repository. It asks again only if their content changes.',
  start: 'You choose an answer for each part. Then the first phase begins, and calls are paid for.',
  fix: 'The run continues. The change counts as good only if the failing tests pass with it.',
  outside:
    'The tests of the base run once without the sandbox, with your rights, your network and your files. Nothing is edited.',
  known: 'The run continues. Tests that failed before do not count against the change.',
  change_model:
    'You name a model. It is asked for the open files and for those that failed, and each call costs.',
  abort:
    'The run ends. Emend restores the files that it changed and did not commit. Commits stay. The run cannot be continued.',
};

/** Reasons at which an answer leads to something else. */
const BY_REASON: Partial<Record<PauseReason, Partial<Record<Answer, string>>>> = {
  baseline: {
    retry:
      'Emend reads `sandbox` and `env` of emend.yaml and of the job again. Then the tests run again on the files without the change. No call is paid for.',
  },
  sandbox_blocks_tests: {
    retry:
      'Emend reads `sandbox` and `env` of emend.yaml and of the job again, and runs the tests or the commit once more. No call is paid for.',
    skip: 'The files stay as they were before the run: what was applied is restored.',
  },
  sandbox_unavailable: {
    skip: 'The files stay as they were before the run: what was applied is restored.',
  },
  configuration: {
    retry: 'Emend reads the files again, as you changed or restored them. No call is paid for.',
  },
  tests_changed_files: {
    retry: 'The tests run once more. No call is paid for.',
    skip: 'What was applied is restored, and the run ends.',
  },
  tests_failed: { skip: 'The run ends. The files stay as they were before it.' },
  audit: {
    revise:
      'The change is restored to the files before it. The model is asked again with your note and the findings, which costs a call.',
    skip: 'The files stay as they were before the run: what was applied is restored.',
  },
  secret_found: {
    skip: 'These files keep their content and are not sent. The next file with a secret is asked about later.',
  },
  pick: {
    retry: 'The model looks for other files, which costs a call. Nothing is edited.',
    skip: 'These files are not edited. If no file is left, the run ends.',
  },
  nothing_found: {
    retry: 'The model looks for other files, which costs a call. Nothing is edited.',
    skip: 'These files are not edited. If no file is left, the run ends.',
  },
  runaway: {
    continue:
      'The run continues with the next file and does not ask for this cause again. Each call costs.',
    revise:
      'You type a note. The model is asked again for the files that failed, and each call costs.',
    skip: 'No further call is made. Files that are done are shown for approval, and the others keep their content. At an audit the applied change is restored, and the run ends.',
  },
  estimate: { skip: 'The run ends. Nothing was paid for and nothing is written.' },
};
/** The consequence of `approve` if some files failed and others may be done. */
const APPROVE_REST =
  'The files that are done are approved and applied. The files of this decision stay as they are.';

/** Consequences of answers about the phases of a plan. */
const OF_PLAN: Partial<Record<Answer, string>> = {
  skip: 'The phase is marked as skipped, and the plan continues with the next one.',
  manual:
    'The phase counts as done by you. Emend tests and marks it where that is still to be done.',
  retry: 'The same step of the plan is done again.',
  regenerate: 'The same step is done again with the current documents and files.',
  revise:
    'You type the goal. The model revises the plan document, which costs a call and is committed.',
  keep: 'What is merged stays, and the plan continues although its tests fail.',
  abort:
    'The plan ends with its open phases. Emend restores what they changed and did not commit. Commits stay, and a later `emend plan run` continues after them.',
};

export const consequenceOf = (decision: DecisionPoint, answer: Answer): string => {
  const ofPlan = decision.ofPlan === true ? OF_PLAN[answer] : undefined;
  if (ofPlan !== undefined) return ofPlan;
  if (answer === 'approve' && decision.reason !== 'approval') return APPROVE_REST;
  return BY_REASON[decision.reason]?.[answer] ?? CONSEQUENCES[answer];
};
