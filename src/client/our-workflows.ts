import { WORKFLOWS } from '../shared/protocol.js';

/** A visibility query for Emend's own workflows. */
export const OUR_WORKFLOWS = `WorkflowType IN (${Object.values(WORKFLOWS)
  .map((name) => `"${name}"`)
  .join(', ')})`;
