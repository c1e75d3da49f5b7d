/** Why a workspace cannot be changed now, and what to type. */
import { fail } from '../../shared/problems.js';
import { shownKey } from '../../shared/refs.js';
import { isLocal } from '../../workspace/local-holder.js';
import type { LeaseHolder } from '../../workspace/types.js';

/** Throws ProblemError `busy`. */
export const failBusy = (workspace: string, holder: LeaseHolder): never => {
  if (isLocal(holder))
    return fail('busy', `Another command is at work in ${workspace}. Nothing was changed.`, 'Try again in a moment.');
  const run = shownKey(holder.stepKey);
  return fail(
    'busy',
    `Run ${run} holds ${workspace}. Nothing was changed.`,
    `See \`emend show ${run}\`: answer or abort it. Where it has ended, \`emend recover\` says what it left.`,
  );
};
