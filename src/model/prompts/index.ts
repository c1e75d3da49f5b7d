/** The door of src/model/prompts: what others may use. */
export {
  auditedFiles,
  auditSchema,
  type AuditPrompt,
  buildAuditRequest,
  changedPlaces,
} from './audit.js';
export {
  type BriefPromptInput,
  briefPrompt,
  closeBriefPrompt,
  newFilesIn,
  readBrief,
} from './pick.js';
export { buildPickRequest, candidateList, PICK_LIST_TOKENS, pickSchema } from './pick.js';
export {
  CHARS_PER_TOKEN,
  CHECKED_LINE_HEAD_CHARS,
  type PromptFile,
  showSignatures,
} from './files.js';
export { bounded, type BuiltRequest, fenced, type OpenRequest } from './blocks.js';
export {
  type EditPrompt,
  type EditPromptInput,
  NOTHING_ELSE,
  UNFINISHED_ASKED,
  buildEditRequest,
  closeEditPrompt,
  editPrompt,
} from './edit.js';
export {
  type FailureShown,
  type PhaseShown,
  type RevisionContext,
  buildDebugRequest,
  buildReplanRequest,
  buildScoreRequest,
  readJsonAnswer,
} from './plan.js';
